// Text, and messages about what is wrong with it.
#pragma once

#include <primal/error.h>

#include <cstddef>
#include <locale>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace primal::base {

std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

/// "a,b" -> {"a", "b"}; nothing after the last comma is no part.
std::vector<std::string> split_at_commas(std::string_view text);
std::string joined(std::span<const std::string> words, std::string_view between);

bool is_utf8(std::string_view text);
/// Bytes of the longest beginning of `text` that is UTF-8.
std::size_t utf8_size(std::string_view text);
/// Bytes at the end of `text` that begin a character and do not complete it: 0 to 3.
std::size_t unfinished_utf8(std::string_view text);

/// `text` in quotes for an error message: one line, valid UTF-8, cut if it is long.
std::string in_quotes(std::string_view text);

/// `text` as one word of a command line: in quotes if a shell would take it apart.
std::string shell_word(const std::string& text);

/// Throws primal::Error, "<file_name>: <parts>".
template <typename... Parts>
[[noreturn]] void fail(std::string_view file_name, const Parts&... parts) {
  std::ostringstream message;
  message.imbue(std::locale::classic());  // no thousands separators, whatever the program's locale
  message << file_name << ": ";
  (message << ... << parts);
  throw Error(message.str());
}

}  // namespace primal::base
