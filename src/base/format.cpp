#include "base/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace primal::base {
namespace {

/// Like printf, but with a point in every locale.
std::string number(double value, std::chars_format format, int precision) {
  std::array<char, 400> text{};  // the largest double has 309 digits before the point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return {text.data(), end.ptr};
}

/// One decimal below 100, none above: "2.8", "28.1", "281".
std::string three_digits(double value) { return format_fixed(value, std::abs(value) < 99.95 ? 1 : 0); }

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The first character of UTF-8 text; a byte that begins none is one by itself.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {lead, 1};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (const char byte : text.substr(1, bytes - 1)) {
    if ((static_cast<unsigned char>(byte) & 0xC0) != 0x80) return {lead, 1};
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  }
  return {code, bytes};
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// The blocks of Unicode's EastAsianWidth.txt that matter; wcwidth() would need the program to set its locale.
constexpr std::array<CodeRange, 10> kTwoColumns = {{{0x1100, 0x115F},
                                                    {0x2E80, 0x303E},
                                                    {0x3041, 0xA4CF},
                                                    {0xAC00, 0xD7A3},
                                                    {0xF900, 0xFAFF},
                                                    {0xFE30, 0xFE6F},
                                                    {0xFF00, 0xFF60},
                                                    {0xFFE0, 0xFFE6},
                                                    {0x1F300, 0x1FAFF},
                                                    {0x20000, 0x3FFFD}}};
constexpr std::array<CodeRange, 5> kNoColumn = {
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};

/// C0, delete and C1; marks, embeddings and overrides of the direction of writing; separators of lines.
constexpr std::array<CodeRange, 6> kControls = {
    {{0x00, 0x1F}, {0x7F, 0x9F}, {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}}};

template <typename Ranges>
bool is_in(const Ranges& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

int columns(char32_t code) { return is_in(kNoColumn, code) ? 0 : is_in(kTwoColumns, code) ? 2 : 1; }

std::string two_digits(std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

}  // namespace

std::string format_fixed(double value, int decimals) { return number(value, std::chars_format::fixed, decimals); }

std::string format_digits(double value, int digits) { return number(value, std::chars_format::general, digits); }

std::string format_count(double value) {
  constexpr std::string_view kUnits = "kMGTPE";
  if (!std::isfinite(value)) return format_metric(value);
  if (std::abs(value) < 999.5) return value == std::floor(value) ? format_fixed(value, 0) : three_digits(value);
  std::size_t unit = 0;
  // 999.5 and more would be rounded to 1000.
  for (value /= 1000; std::abs(value) >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return three_digits(value) + kUnits[unit];
}

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e9;  // some 30 years; also keeps the conversion below defined
  if (!(seconds >= 0 && seconds < kLongest)) return "-:--";
  const std::int64_t total = std::llround(seconds);
  const std::int64_t hours = total / 3600;
  const std::int64_t minutes = total / 60 % 60;
  const std::string head = hours > 0 ? std::to_string(hours) + ":" + two_digits(minutes) : std::to_string(minutes);
  return head + ":" + two_digits(total % 60);
}

std::string format_percent(double share, int decimals) { return format_fixed(share * 100, decimals) + " %"; }

std::string format_metric(double value) {
  const double size = std::abs(value);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (size != 0 && size < 0.001) return number(value, std::chars_format::scientific, 1);
  if (size < 100) return format_fixed(value, 3);
  if (size < 10000) return format_fixed(value, 1);
  return number(value, std::chars_format::scientific, 2);
}

std::string printable(std::string_view text, bool lines) {
  std::string result;
  while (!text.empty()) {
    const Character next = first_character(text);
    const bool is_end_of_line = lines && next.code == '\n';
    const bool is_lone_byte = next.bytes == 1 && next.code >= 0x80;
    if (!is_end_of_line && (is_lone_byte || is_in(kControls, next.code))) {
      result += printed(next.code > 0xFF ? "\\u%04x" : "\\x%02x", static_cast<unsigned>(next.code));
    } else {
      result += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return result;
}

std::string padded(std::string_view text, int width) {
  std::string result = printable(text);
  const int used = display_width(result);
  if (used < width) result.append(static_cast<size_t>(width - used), ' ');
  return result;
}

std::string_view cut_to_width(std::string_view text, int width) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character next = first_character(text.substr(length));
    width -= columns(next.code);
    if (width < 0) break;
    length += next.bytes;
  }
  return text.substr(0, length);
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    width += columns(next.code);
    text.remove_prefix(next.bytes);
  }
  return width;
}

}  // namespace primal::base
