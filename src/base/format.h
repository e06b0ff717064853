// Numbers as people read them, and the room that text takes on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace primal::base {

/// printf into a string of at most 511 bytes: a line of a table, a sentence with numbers.
template <typename... Values>
std::string printed(const char* pattern, Values... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

/// 999 -> "999", 2810 -> "2.8k", 28100 -> "28.1k", 281000 -> "281k", 3.4e6 -> "3.4M".
std::string format_count(double value);

/// Seconds as m:ss or h:mm:ss: 151 -> "2:31", 3661 -> "1:01:01". "-:--" if not known (NaN, infinite, negative).
std::string format_duration(double seconds);

/// A share of 1: 0.963 -> "96.3 %".
std::string format_percent(double share, int decimals = 1);

/// 0.87312, 3 -> "0.873".
std::string format_fixed(double value, int decimals);

/// So many significant digits: 0.0447213, 4 -> "0.04472".
std::string format_digits(double value, int digits);

/// A loss or the like, about three digits: 0.231, 12.346, 1234.5, 1.2e-04, "nan".
std::string format_metric(double value);

/// Text that a terminal shows and does not obey: control characters, and bytes that are no UTF-8, as \x1b; what turns
/// the direction of writing as \u202e. With `lines` the ends of lines stay.
std::string printable(std::string_view text, bool lines = false);

/// Columns that UTF-8 text without control characters takes: East Asian characters and emoji take two, accents that
/// combine with the letter before them none. A byte that is no UTF-8 counts as one.
int display_width(std::string_view text);

/// The text, made printable, and as many spaces as it needs to take `width` columns.
std::string padded(std::string_view text, int width);

/// The longest beginning of `text` that takes at most `width` columns; never half a character.
std::string_view cut_to_width(std::string_view text, int width);

}  // namespace primal::base
