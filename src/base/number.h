// Numbers as text files write them: decimal point, optional exponent, whatever the program's locale.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace primal::base {

enum class Reading {
  kNumber,
  kMissing,   ///< ? or NaN
  kEmpty,     ///< nothing but spaces
  kInfinite,  ///< inf, infinity
  kTooLarge,  ///< beyond the range of the type
  kOther,
};

/// A number as a float, and what that loses of it.
struct SplitNumber {
  float value = 0, remainder = 0;
};

/// A decimal without exponent whose digits make a whole number up to 2^24, which is what most files have. That number
/// and the power of ten are exact floats, so one division rounds once, as std::from_chars does.
struct ShortDecimal {
  uint32_t whole = 0;
  std::size_t decimals = 0;
  bool negative = false;

  template <typename T>
  T value() const {
    constexpr std::array<T, 11> kPowers = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
    const T size = static_cast<T>(whole) / kPowers[decimals];
    return negative ? -size : size;
  }
};

/// Its end, or nullptr if there is none at `at`.
inline const char* short_decimal(const char* at, const char* end, ShortDecimal& number) {
  constexpr uint32_t kExact = 1U << 24;
  constexpr std::size_t kMostDecimals = 10;
  number.negative = at != end && *at == '-';
  if (number.negative) ++at;
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
  number.whole = whole;
  number.decimals = point ? digits - digits_before_point : 0;
  const bool has_exponent = at != end && (*at == 'e' || *at == 'E');
  return digits == 0 || number.decimals > kMostDecimals || has_exponent ? nullptr : at;
}

/// The end of the finite number that begins at `begin`, or nullptr if none that is plain does. The fast path: most
/// values need no more than this.
template <typename T>
const char* plain_number(const char* begin, const char* end, T& value) {
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && std::isfinite(value) ? stop : nullptr;
}

inline const char* plain_number(const char* begin, const char* end, float& value) {
  ShortDecimal number;
  if (const char* stop = short_decimal(begin, end, number)) {
    value = number.value<float>();
    return stop;
  }
  return plain_number<float>(begin, end, value);
}

/// The float is the nearest one to the text, as if it had been read alone.
inline const char* plain_number(const char* begin, const char* end, SplitNumber& number) {
  double exact = 0;
  ShortDecimal decimal;
  const char* stop = short_decimal(begin, end, decimal);
  if (stop != nullptr) {
    exact = decimal.value<double>();
    number.value = decimal.value<float>();
  } else {
    stop = plain_number(begin, end, exact);
    if (stop == nullptr) return nullptr;
    number.value = static_cast<float>(exact);
    // A double that lies in the middle between two floats may have been rounded to there, and would be rounded twice.
    constexpr uint64_t kRest = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28;
    if ((std::bit_cast<uint64_t>(exact) & kRest) == kMiddle) plain_number(begin, end, number.value);
    if (!std::isfinite(number.value)) return nullptr;
  }
  number.remainder = static_cast<float>(exact - number.value);
  return stop;
}

/// Reads a whole field, with the spaces around it. Too small a number is 0. `value` is set if the result is kNumber.
Reading read_number(std::string_view field, float& value);
Reading read_number(std::string_view field, double& value);
Reading read_number(std::string_view field, SplitNumber& number);

/// "a number, got "x"", for an error message after "expected ". T = the type that was wanted.
template <typename T>
std::string describe(Reading reading, std::string_view field);

}  // namespace primal::base
