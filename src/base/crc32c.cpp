#include "base/crc32c.h"

#include <array>
#include <cstdio>
#include <cstring>

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

std::uint32_t remainder_by_table(std::uint32_t remainder, std::string_view bytes) {
  for (const char byte : bytes) {
    remainder = (remainder >> 8) ^ kTable[(remainder ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return remainder;
}

#if defined(__x86_64__)
// Eight bytes at a time: a checkpoint may have gigabytes.
[[gnu::target("sse4.2")]] std::uint32_t remainder_by_instruction(std::uint32_t remainder, std::string_view bytes) {
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    remainder = static_cast<std::uint32_t>(__builtin_ia32_crc32di(remainder, word));
  }
  return remainder_by_table(remainder, bytes);
}
#endif

std::uint32_t remainder_of(std::uint32_t remainder, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return remainder_by_instruction(remainder, bytes);
#endif
  return remainder_by_table(remainder, bytes);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) { return ~remainder_of(~std::uint32_t{0}, bytes); }

std::string crc32c_text(std::string_view bytes) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", crc32c(bytes));
  return digits;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15) | (sum << 17)) + 0xA282EAD8;  // as in the TFRecord format
}

}  // namespace primal::base
