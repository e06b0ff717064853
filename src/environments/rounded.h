// Numbers with few digits, for files that people keep.
#pragma once

#include <array>
#include <charconv>

namespace primal::environments {

/// The nearest number of `digits` significant digits; a JSON file then has no more of them.
inline double rounded_to(int digits, double number) {
  std::array<char, 64> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific, digits - 1);
  double result = number;
  std::from_chars(text.data(), written.ptr, result);
  return result;
}

}  // namespace primal::environments
