#include "base/base64.h"

#include <algorithm>
#include <cstddef>

namespace primal::base {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < count ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kBase64Digits[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> bytes_of_base64(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  const std::string_view digits = text.substr(0, text.find('='));
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t digit = kBase64Digits.find(digits[i]);
    if (digit == kBase64Digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    // A digit completes a byte unless it is the first of its four.
    if (i % 4 != 0) bytes.push_back(static_cast<std::uint8_t>(bits >> (6 - 2 * (i % 4))));
  }
  // One text for the same bytes: no other padding, and nothing in the bits that are left over.
  if (base64_of(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace primal::base
