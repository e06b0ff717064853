#include "base/crc32c.h"

#include <array>

namespace primal::base {
namespace {

/// 0x1EDC6F41 with its bits reversed: the checksum takes the lowest bit of a byte first.
constexpr std::uint32_t kPolynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

// One byte at a time: event records are some 50 bytes, and there are a few per second.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t remainder = ~std::uint32_t{0};
  for (const char byte : bytes) {
    remainder = (remainder >> 8) ^ kTable[(remainder ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~remainder;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15) | (sum << 17)) + 0xA282EAD8;  // as in the TFRecord format
}

}  // namespace primal::base
