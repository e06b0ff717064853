#include "run/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <system_error>
#include <type_traits>

#include "base/crc32c.h"
#include "base/write_failure.h"

namespace primal::run {
namespace {

namespace fs = std::filesystem;

template <typename Unsigned>
void append_little_endian(std::string& bytes, Unsigned value) {
  static_assert(std::is_unsigned_v<Unsigned>);
  for (std::size_t i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

/// A protobuf message in its wire format, field by field.
class Message {
 public:
  Message& integer(std::uint32_t field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    key(field, 1);
    append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(std::uint32_t field, float value) {
    key(field, 5);
    append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& string(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return string(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t wire_type) { varint(field << 3 | wire_type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

// The field numbers below are those of TensorFlow's event.proto, summary.proto and tensor.proto.

Message event(double wall_time, std::int64_t step) { return Message().real(1, wall_time).integer(2, step); }

Message summary_of(const Message& value) { return Message().message(1, value); }

/// A tensor of type string and without dimensions, which the metadata give to the text page.
Message text_value(std::string_view tag, std::string_view text) {
  constexpr std::int64_t kStringType = 7;       // DT_STRING
  constexpr std::int64_t kTensorDataClass = 2;  // DATA_CLASS_TENSOR
  const Message tensor = Message().integer(1, kStringType).message(2, Message()).string(8, text);
  const Message metadata = Message().message(1, Message().string(1, "text")).integer(4, kTensorDataClass);
  return Message().string(1, tag).message(8, tensor).message(9, metadata);
}

/// The seconds in the name of an events file; -1 for other files.
std::int64_t second_in_name(std::string_view name) {
  if (!name.starts_with(kEventsPrefix)) return -1;
  name.remove_prefix(kEventsPrefix.size());
  std::int64_t second = -1;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), second);
  return end.ec == std::errc() ? second : -1;
}

/// The second to name a file after: `now`, or later than all that are there.
std::int64_t next_second(const fs::path& directory, std::int64_t now) {
  constexpr std::int64_t kLast = 9'999'999'998;  // names sort like numbers while they have 10 digits
  std::error_code unreadable;                    // opening the file will say so
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, unreadable)) {
    const std::int64_t second = second_in_name(entry.path().filename().string());
    if (second <= kLast) now = std::max(now, second + 1);
  }
  return now;
}

std::string hostname() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventFile::EventFile(const fs::path& run_directory, const EventFileOptions& options) {
  const double start = options.start_time.value_or(unix_time());
  const std::int64_t second = next_second(run_directory, static_cast<std::int64_t>(start));
  path_ = run_directory / (std::string(kEventsPrefix) + std::to_string(second) + "." + hostname());
  file_.reset(std::fopen(path_.c_str(), "wbxe"));  // x: must be new; e: not for child processes
  if (file_ == nullptr) base::fail_writing(path_, "create");

  const std::int64_t first_step = options.purge_step.value_or(0);
  write_record(event(start, first_step).string(3, "brain.Event:2").bytes());
  if (options.purge_step) {
    const Message session_start = Message().integer(1, 1);  // SessionLog.status = START
    write_record(event(start, first_step).message(7, session_start).bytes());
  }
  flush();
}

void EventFile::scalar(std::string_view tag, double value, std::int64_t step, double wall_time) {
  const Message scalar_value = Message().string(1, tag).real(2, static_cast<float>(value));
  write_record(event(wall_time, step).message(5, summary_of(scalar_value)).bytes());
}

void EventFile::text(std::string_view tag, std::string_view text, std::int64_t step, double wall_time) {
  write_record(event(wall_time, step).message(5, summary_of(text_value(tag, text))).bytes());
}

void EventFile::flush() {
  if (std::fflush(file_.get()) != 0) base::fail_writing(path_, "write");
}

/// TFRecord: length, checksum of the length, data, checksum of the data.
void EventFile::write_record(std::string_view event) {
  std::string record;
  append_little_endian(record, std::uint64_t{event.size()});
  append_little_endian(record, base::masked_crc32c(record));
  record += event;
  append_little_endian(record, base::masked_crc32c(event));
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size()) base::fail_writing(path_, "write");
}

}  // namespace primal::run
