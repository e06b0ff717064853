// Any bytes as a safetensors file: either a one-line primal::Error or a header that keeps its promises.
#include <primal/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/safetensors_header.h"

namespace {

using primal::data::SafetensorsEntry;
using primal::data::SafetensorsHeader;

constexpr std::string_view kFileName = "fuzz.safetensors";

void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

std::optional<SafetensorsHeader> parse(std::string_view file) {
  try {
    return primal::data::parse_safetensors_header(std::as_bytes(std::span(file)), kFileName);
  } catch (const primal::Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with(kFileName), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 4000, "an error does not grow with the file");
    require(primal::base::is_utf8(message), "an error is UTF-8");
    return std::nullopt;
  }
}

void check(std::string_view file) {
  const std::optional<SafetensorsHeader> header = parse(file);
  if (!header) return;
  require(header->data_start <= file.size(), "the data start within the file");
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    auto bytes = static_cast<std::uint64_t>(info(entry.dtype).size);
    for (std::int64_t size : entry.shape) bytes *= static_cast<std::uint64_t>(size);
    require(entry.end - entry.begin == bytes, "the data of a tensor have the size of its shape");
    require(std::exchange(reached, entry.end) == entry.begin, "tensors follow each other");
  }
  require(reached == file.size() - header->data_start, "the tensors end where the file ends");

  std::string rewritten = primal::data::format_safetensors_header(*header);
  require(rewritten.size() % 8 == 0, "written data start at a multiple of 8");
  SafetensorsHeader expected = *header;
  expected.data_start = rewritten.size();
  require(parse(rewritten.append(file.substr(header->data_start))) == expected, "a written header reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  check(file);
  // Most mutations make the length wrong, which hides the JSON; so the header is also tried with the length it has.
  if (const std::size_t end = file.rfind('}'); end != file.npos && end >= sizeof(std::uint64_t)) {
    const std::uint64_t length = end + 1 - sizeof(length);
    std::memcpy(file.data(), &length, sizeof(length));
    check(file);
  }
  return 0;
}
