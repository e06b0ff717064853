#include "base/number.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace primal::base {
namespace {

/// Whether a number out of range is too near to 0, not too large. Its form has been checked; "0e9" is never out of
/// range.
bool is_tiny(std::string_view number) {
  const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, exponent_at);
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<int64_t>(digits.find_first_of("123456789"));
  int64_t exponent = 0;
  if (exponent_at < number.size()) {
    std::string_view text = number.substr(exponent_at + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto result = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (result.ec != std::errc()) return text.starts_with('-');  // more than 18 digits, longer than any line
  }
  return point - first + exponent < 0;
}

template <typename T>
Reading read_any(std::string_view field, T& value) {
  field = trim(field);
  if (field.empty()) return Reading::kEmpty;
  if (field == "?") return Reading::kMissing;
  std::string_view number = field;
  if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
  T parsed = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, parsed);
  if (stop != end || number.ends_with(')')) return Reading::kOther;  // nan(...) is C's, not ours
  if (error == std::errc::result_out_of_range && is_tiny(number)) {
    value = 0;
    return Reading::kNumber;
  }
  if (error == std::errc::result_out_of_range) return Reading::kTooLarge;
  if (error != std::errc()) return Reading::kOther;
  if (std::isnan(parsed)) return Reading::kMissing;
  if (std::isinf(parsed)) return Reading::kInfinite;
  value = parsed;
  return Reading::kNumber;
}

template <typename T>
constexpr std::string_view kLargest = "1.8e308";
template <>
constexpr std::string_view kLargest<float> = "3.4e38";

}  // namespace

Reading read_number(std::string_view field, float& value) { return read_any(field, value); }
Reading read_number(std::string_view field, double& value) { return read_any(field, value); }

Reading read_number(std::string_view field, SplitNumber& number) {
  const Reading reading = read_any(field, number.value);
  if (double exact = 0; reading == Reading::kNumber && read_any(field, exact) == Reading::kNumber) {
    number.remainder = static_cast<float>(exact - number.value);
  }
  return reading;
}

template <typename T>
std::string describe(Reading reading, std::string_view field) {
  std::string text = "a number";
  if (reading == Reading::kInfinite) text = "a finite number";
  if (reading == Reading::kTooLarge) text.append(" up to ").append(kLargest<T>);
  return text.append(", got ").append(reading == Reading::kEmpty ? "nothing" : in_quotes(trim(field)));
}
template std::string describe<float>(Reading, std::string_view);
template std::string describe<double>(Reading, std::string_view);

}  // namespace primal::base
