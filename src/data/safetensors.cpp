#include <primal/error.h>
#include <primal/safetensors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/safetensors_header.h"

namespace primal {
namespace {

namespace fs = std::filesystem;
using base::AtomicFile;
using base::in_quotes;
using base::MappedFile;
using data::SafetensorsDtype;
using data::SafetensorsEntry;

/// In the order of SafetensorsDtype.
constexpr std::array<at::ScalarType, data::kSafetensorsDtypes.size()> kScalarTypes = {
    at::kBool,     at::kByte, at::kChar,   at::kFloat8_e5m2, at::kFloat8_e4m3fn, at::kShort,  at::kUInt16, at::kHalf,
    at::kBFloat16, at::kInt,  at::kUInt32, at::kFloat,       at::kComplexFloat,  at::kDouble, at::kLong,   at::kUInt64};

template <typename... Parts>
[[noreturn]] void fail(const fs::path& path, const Parts&... parts) {
  base::fail(path.string(), parts...);
}

torch::Tensor view_of(const SafetensorsEntry& entry, std::span<std::byte> bytes, std::shared_ptr<MappedFile> file) {
  const auto options = at::TensorOptions(kScalarTypes[static_cast<std::size_t>(entry.dtype)]);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (!bytes.empty() && address % static_cast<std::uintptr_t>(data::info(entry.dtype).size) == 0) {
    return at::from_blob(
        bytes.data(), entry.shape, [file = std::move(file)](void*) {}, options);
  }
  torch::Tensor copy = at::empty(entry.shape, options);
  if (!bytes.empty()) std::memcpy(copy.data_ptr(), bytes.data(), bytes.size());
  return copy;
}

/// The entry of one tensor, without its place in the file.
SafetensorsEntry describe(const fs::path& path, const std::string& name, const torch::Tensor& tensor) {
  const auto refuse = [&](const auto&... why) { fail(path, "tensor ", in_quotes(name), ": ", why...); };
  if (name == data::kSafetensorsMetadataKey) refuse("the name is reserved for the metadata");
  if (!base::is_utf8(name)) refuse("the name is not UTF-8");
  if (!tensor.defined()) refuse("is undefined");
  if (!tensor.device().is_cpu()) refuse("is on ", tensor.device(), ", expected cpu");
  if (tensor.is_nested() || tensor.layout() != at::kStrided) refuse("is sparse or nested, expected a dense tensor");
  const auto type = std::ranges::find(kScalarTypes, tensor.scalar_type());
  if (type == kScalarTypes.end()) refuse("the format has no dtype for ", tensor.scalar_type());
  if (tensor.dim() > static_cast<std::int64_t>(data::kMaxSafetensorsRank)) {
    refuse("has ", tensor.dim(), " dimensions, expected at most ", data::kMaxSafetensorsRank);
  }
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = static_cast<SafetensorsDtype>(type - kScalarTypes.begin());
  entry.shape = tensor.sizes().vec();
  return entry;
}

/// The header of a file with these tensors, each at its place.
data::SafetensorsHeader arrange(const fs::path& path, const std::map<std::string, torch::Tensor>& tensors,
                                const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (!base::is_utf8(key) || !base::is_utf8(value)) fail(path, "metadata ", in_quotes(key), ": is not UTF-8");
  }
  data::SafetensorsHeader header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : tensors) header.entries.push_back(describe(path, name, tensor));
  // Largest elements first keeps everything aligned; the map gave the order of the names.
  std::ranges::stable_sort(header.entries, std::greater(), &SafetensorsEntry::dtype);
  std::uint64_t place = 0;
  for (SafetensorsEntry& entry : header.entries) {
    entry.begin = place;
    entry.end = place += tensors.at(entry.name).nbytes();
  }
  return header;
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path, "a safetensors file");
  data::SafetensorsHeader header = data::parse_safetensors_header(file->bytes(), path.string());
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.entries) {
    const std::span<std::byte> bytes = file->bytes().subspan(header.data_start + entry.begin, entry.end - entry.begin);
    // A C++ bool that is neither 0 nor 1 is undefined behaviour in every operator that reads it.
    if (entry.dtype == SafetensorsDtype::BOOL) {
      const auto wrong = std::ranges::find_if(bytes, [](std::byte value) { return value > std::byte{1}; });
      if (wrong != bytes.end()) {
        fail(path, "tensor ", in_quotes(entry.name), ": BOOL value ", std::to_integer<int>(*wrong), " at element ",
             wrong - bytes.begin(), " is neither 0 nor 1");
      }
    }
    result.tensors.emplace(entry.name, view_of(entry, bytes, file));
  }
  return result;
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, torch::Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const data::SafetensorsHeader header = arrange(path, tensors, metadata);
  const std::string head = data::format_safetensors_header(header);
  if (head.size() > sizeof(std::uint64_t) + data::kMaxSafetensorsHeader) {
    fail(path, "header of ", head.size(), " bytes is above the limit of ", data::kMaxSafetensorsHeader);
  }
  AtomicFile file(path);
  file.write(head.data(), head.size());
  for (const SafetensorsEntry& entry : header.entries) {
    // One copy at a time, if any. A conjugate or negative view says so in a bit that the memory does not show.
    const torch::Tensor tensor = tensors.at(entry.name).detach().resolve_conj().resolve_neg().contiguous();
    file.write(tensor.const_data_ptr(), tensor.nbytes());
  }
  file.commit();
}

}  // namespace primal
