// Numbers as text files write them: decimal point, optional exponent, whatever the program's locale.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace primal::base {

enum class Reading {
  kNumber,
  kMissing,   ///< ? or NaN
  kEmpty,     ///< nothing but spaces
  kInfinite,  ///< inf, infinity
  kTooLarge,  ///< beyond the range of the type
  kOther,
};

/// plain_number() for a decimal without exponent whose digits make a whole number up to 2^24, which is what most files
/// have. That number and the power of ten are exact floats, so one division rounds once, as std::from_chars does.
inline const char* short_decimal(const char* at, const char* end, float& value) {
  constexpr uint32_t kExact = 1U << 24;
  constexpr std::array kPowers = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  uint32_t whole = 0;
  std::size_t digits = 0, digits_before_point = 0;
  bool point = false;
  for (; at != end; ++at) {
    const auto digit = static_cast<uint32_t>(*at - '0');  // what is below '0' becomes large
    if (digit <= 9) {
      whole = whole * 10 + digit;
      if (whole > kExact) return nullptr;
      ++digits;
    } else if (*at == '.' && !point) {
      point = true;
      digits_before_point = digits;
    } else {
      break;
    }
  }
  const std::size_t decimals = point ? digits - digits_before_point : 0;
  if (digits == 0 || decimals >= kPowers.size() || (at != end && (*at == 'e' || *at == 'E'))) return nullptr;
  const float size = static_cast<float>(whole) / kPowers[decimals];
  value = negative ? -size : size;
  return at;
}

/// The end of the finite number that begins at `begin`, or nullptr if none that is plain does. The fast path: most
/// values need no more than this.
template <typename T>
const char* plain_number(const char* begin, const char* end, T& value) {
  if constexpr (std::is_same_v<T, float>) {
    if (const char* stop = short_decimal(begin, end, value)) return stop;
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && std::isfinite(value) ? stop : nullptr;
}

/// Reads a whole field, with the spaces around it. Too small a number is 0. `value` is set if the result is kNumber.
Reading read_number(std::string_view field, float& value);
Reading read_number(std::string_view field, double& value);

/// "a number, got "x"", for an error message after "expected ". T = the type that was wanted.
template <typename T>
std::string describe(Reading reading, std::string_view field);

}  // namespace primal::base
