#include "data/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace primal::data {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian; no swapping is written");

std::string range(const SafetensorsEntry& entry) {
  return std::string("[") + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
}

/// "[2, 3] of F32"
std::string type(const SafetensorsEntry& entry) {
  std::string text = "[";
  for (std::int64_t size : entry.shape) text.append(text.size() > 1 ? ", " : "").append(std::to_string(size));
  return text.append("] of ").append(info(entry.dtype).name);
}

std::optional<SafetensorsDtype> find_dtype(std::string_view name) {
  const auto found = std::ranges::find(kSafetensorsDtypes, name, &SafetensorsDtypeInfo::name);
  if (found == kSafetensorsDtypes.end()) return std::nullopt;
  return static_cast<SafetensorsDtype>(found - kSafetensorsDtypes.begin());
}

/// Bytes of a tensor, or nothing on overflow. The strides of an empty tensor such as [0, 2^40, 2^40] would overflow
/// too, hence a dimension of 0 counts as 1 until the end.
std::optional<std::uint64_t> data_bytes(const SafetensorsEntry& entry) {
  std::int64_t bytes = info(entry.dtype).size;
  for (std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return std::ranges::find(entry.shape, 0) == entry.shape.end() ? static_cast<std::uint64_t>(bytes) : 0;
}

/// Builds a SafetensorsHeader from the events of the JSON parser. The format has four levels and every event is checked
/// against the current place, so that deep nesting ends at the first bracket too many and nothing recurses.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(std::string_view file_name) : file_name_(file_name) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_float(double, const std::string& token) override { unexpected("the number ", base::in_quotes(token)); }
  bool binary(Json::binary_t&) override { unexpected("binary data"); }

  bool number_integer(std::int64_t value) override {
    if (value < 0) unexpected(value);
    return number_unsigned(static_cast<std::uint64_t>(value));
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::kOffsets) {
      if (offsets_.size() == 2) fail(subject(), ": expected 2 values, got more");
      offsets_.push_back(value);
    } else if (place_ == Place::kShape && value <= std::numeric_limits<std::int64_t>::max()) {
      if (entry_.shape.size() == kMaxSafetensorsRank)
        fail(subject(), ": more than ", kMaxSafetensorsRank, " dimensions");
      entry_.shape.push_back(static_cast<std::int64_t>(value));
    } else {
      unexpected(value);
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(key_, std::move(value));
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      const std::optional<SafetensorsDtype> dtype = find_dtype(value);
      if (!dtype) fail(tensor(), ": unknown dtype ", base::in_quotes(value));
      entry_.dtype = *dtype;
    } else {
      unexpected("the string ", base::in_quotes(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kFile;
    } else if (place_ == Place::kFile) {
      place_ = entry_.name == kSafetensorsMetadataKey ? Place::kMetadata : Place::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::kFile) {
      if (!names_.insert(key).second) fail("duplicate key ", base::in_quotes(key));
      entry_ = SafetensorsEntry();
      entry_.name = std::move(key);
      fields_.clear();
      offsets_.clear();
      return true;
    }
    key_ = std::move(key);
    if (place_ == Place::kMetadata && header_.metadata.contains(key_)) fail("duplicate key in ", subject());
    if (place_ == Place::kTensor) {
      if (std::ranges::find(kFields, key_) == kFields.end()) fail(tensor(), ": unknown field ", base::in_quotes(key_));
      if (!fields_.insert(key_).second) fail(tensor(), ": duplicate field ", base::in_quotes(key_));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    place_ = Place::kFile;  // the parser ends by itself after the outermost object
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") unexpected("an array");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && offsets_.size() != 2) {
      fail(subject(), ": expected 2 values, got ", offsets_.size());
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const nlohmann::detail::exception& error) override {
    // The message ends with the last token, which is as long as the file wants it to be.
    std::string_view reason = error.what();
    reason = reason.substr(0, reason.find("; last read"));
    const std::size_t start = reason.find("while parsing");
    reason = start == reason.npos ? "number out of range" : reason.substr(start);
    fail("header is not valid JSON at byte ", sizeof(std::uint64_t) + bytes_read - 1, ": ", reason);
  }

 private:
  enum class Place { kStart, kFile, kMetadata, kTensor, kShape, kOffsets };
  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    base::fail(file_name_, parts...);
  }

  template <typename... Parts>
  [[noreturn]] void unexpected(const Parts&... value) const {
    fail(subject(), ": expected ", wanted(), ", got ", value...);
  }

  std::string tensor() const { return std::string("tensor ").append(base::in_quotes(entry_.name)); }

  std::string subject() const {
    if (place_ == Place::kMetadata)
      return std::string(kSafetensorsMetadataKey).append(" ").append(base::in_quotes(key_));
    if (place_ != Place::kFile) return tensor().append(": ").append(key_);
    return entry_.name == kSafetensorsMetadataKey ? entry_.name : tensor();
  }

  std::string_view wanted() const {
    if (place_ == Place::kShape) return "whole numbers from 0 to 9223372036854775807";
    if (place_ == Place::kOffsets) return "whole numbers from 0 to 18446744073709551615";
    if (place_ == Place::kMetadata || (place_ == Place::kTensor && key_ == "dtype")) return "a string";
    return place_ == Place::kTensor ? "an array" : "an object";
  }

  void finish_tensor() {
    for (std::string_view field : kFields) {
      if (!fields_.contains(field)) fail(tensor(), ": missing field ", base::in_quotes(field));
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    if (entry_.begin > entry_.end) fail(tensor(), ": data ", range(entry_), " end before they begin");
    const std::optional<std::uint64_t> bytes = data_bytes(entry_);
    if (!bytes) fail(tensor(), ": the size of shape ", type(entry_), " overflows 64 bits");
    if (entry_.end - entry_.begin != *bytes) {
      fail(tensor(), ": data ", range(entry_), " but shape ", type(entry_), " needs ", *bytes, " bytes");
    }
    header_.entries.push_back(std::move(entry_));
  }

  std::string_view file_name_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;                // keys of the file so far; a tree, as hash values can be made to collide
  SafetensorsEntry entry_;                     // the tensor being read; its name is the last key of the file
  std::set<std::string, std::less<>> fields_;  // keys of this tensor so far
  std::vector<std::uint64_t> offsets_;         // values of its data_offsets so far
  std::string key_;                            // the last key within a tensor or the metadata
};

/// The JSON bytes of the file, once the length in front of them is known to be right.
std::string_view header_text(std::span<const std::byte> file, std::string_view file_name) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) {
    base::fail(file_name, "file of ", file.size(), " bytes is too short for the 8 bytes of the header length");
  }
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMaxSafetensorsHeader) {
    base::fail(file_name, "header length ", length, " is above the limit of ", kMaxSafetensorsHeader, " bytes");
  }
  if (length > file.size() - sizeof(length)) {
    base::fail(file_name, "header length ", length, " is beyond the file of ", file.size(), " bytes");
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof(length), length);
  if (!text.starts_with('{'))
    base::fail(file_name, "header does not start with '{' but with ", base::in_quotes(text.substr(0, 1)));
  // The JSON parser takes a zero byte for the end of its input and would not look at what is behind it.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    base::fail(file_name, "header is not valid JSON at byte ", sizeof(length) + zero, ": zero byte");
  }
  return text;
}

/// Every byte of the data must belong to exactly one tensor. Sorts the entries by place.
void check_layout(std::vector<SafetensorsEntry>& entries, std::uint64_t data_size, std::string_view file_name) {
  std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::tuple(entry.begin, entry.end); });
  const SafetensorsEntry* before = nullptr;
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : entries) {
    const auto fail_here = [&](const auto&... parts) {
      base::fail(file_name, "tensor ", base::in_quotes(entry.name), ": data ", range(entry), parts...);
    };
    if (entry.end > data_size) fail_here(" end beyond the ", data_size, " data bytes of the file");
    if (entry.begin < reached) fail_here(" overlap ", range(*before), " of tensor ", base::in_quotes(before->name));
    if (entry.begin > reached) fail_here(" leave a hole after byte ", reached, " of the data");
    reached = entry.end;
    before = &entry;
  }
  if (reached < data_size)
    base::fail(file_name, data_size - reached, " trailing bytes after the ", reached, " of the tensors");
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view file_name) {
  const std::string_view text = header_text(file, file_name);
  HeaderReader reader(file_name);
  Json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  header.data_start = sizeof(std::uint64_t) + text.size();
  check_layout(header.entries, file.size() - header.data_start, file_name);
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  std::string text(sizeof(std::uint64_t), '\0');  // room for the length
  char separator = '{';
  const auto add_key = [&](std::string_view key) {
    text += std::exchange(separator, ',');
    text.append(Json(key).dump()).append(":");
  };
  if (!header.metadata.empty()) {
    add_key(kSafetensorsMetadataKey);
    text += Json(header.metadata).dump();
  }
  for (const SafetensorsEntry& entry : header.entries) {
    add_key(entry.name);
    text.append(R"({"dtype":")")
        .append(info(entry.dtype).name)
        .append(R"(","shape":)")
        .append(Json(entry.shape).dump());
    text.append(R"(,"data_offsets":)").append(Json{entry.begin, entry.end}.dump()).append("}");
  }
  text += separator == '{' ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size() - sizeof(length);
  std::memcpy(text.data(), &length, sizeof(length));
  return text;
}

}  // namespace primal::data
