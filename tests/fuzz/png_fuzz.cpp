// Any bytes as a grey PNG file: either a one-line primal::Error or a picture that is written and read back the same.
#include <primal/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/images/grey_png.h"

namespace {

using primal::data::GreyPicture;

constexpr std::string_view kFileName = "fuzz.png";

void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

std::optional<GreyPicture> decode(std::string_view file) {
  try {
    return primal::data::decode_grey_png(std::as_bytes(std::span(file)), kFileName);
  } catch (const primal::Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with(kFileName), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 1000, "an error does not grow with the file");
    require(primal::base::is_utf8(message), "an error is UTF-8");
    return std::nullopt;
  }
}

void check(std::string_view file) {
  const std::optional<GreyPicture> picture = decode(file);
  if (!picture) return;
  const auto [width, height, pixels] = *picture;
  require(width > 0 && height > 0, "a picture has a pixel");
  require(width <= primal::data::kMostPngSide && height <= primal::data::kMostPngSide, "a picture is not huge");
  require(static_cast<std::int64_t>(pixels.size()) == width * height, "every pixel has a value");
  if (pixels.size() > 100'000) return;  // writing large pictures would take most of the time
  const std::optional<GreyPicture> again = decode(primal::data::encode_grey_png(width, height, pixels));
  require(again && again->width == width && again->height == height && again->pixels == pixels,
          "a written picture reads the same");
}

std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<std::uint8_t>(byte);
    for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~sum;
}

/// The chunks with the checksums that they should have, as far as they can be found.
std::string with_right_checksums(std::string file) {
  constexpr std::size_t kSignature = 8, kFrame = 12;  // length, name and checksum of a chunk
  for (std::size_t at = kSignature; at + kFrame <= file.size();) {
    std::uint32_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<std::uint8_t>(file[at + i]);
    if (length > file.size() - at - kFrame) break;
    const std::uint32_t sum = crc32_of(std::string_view(file).substr(at + 4, length + 4));
    at += kFrame + length;
    for (int i = 0; i < 4; ++i) file[at - 4 + i] = static_cast<char>(sum >> (24 - 8 * i));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  check(file);
  check(with_right_checksums(file));  // most mutations make a checksum wrong, which hides what is behind it
  return 0;
}
