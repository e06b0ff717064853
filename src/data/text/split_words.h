// The one rule of what a word is: what stands between blanks, tabs and the like. Blanks beyond ASCII (U+00A0, U+3000)
// are letters of a word, as in the counts that WikiText is published with.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace primal::data {

namespace internal {

inline constexpr std::array<bool, 256> kEndsWord = [] {
  std::array<bool, 256> ends{};
  for (const char c : {' ', '\t', '\r', '\v', '\f', '\n'}) ends[static_cast<unsigned char>(c)] = true;
  return ends;
}();

}  // namespace internal

/// word(std::string_view) for each word and line_end() for each '\n', in order.
template <typename Word, typename LineEnd>
void split_words(std::string_view text, const Word& word, const LineEnd& line_end) {
  const auto ends_word = [&](std::size_t at) { return internal::kEndsWord[static_cast<unsigned char>(text[at])]; };
  for (std::size_t at = 0; at < text.size();) {
    if (ends_word(at)) {
      if (text[at++] == '\n') line_end();
      continue;
    }
    const std::size_t start = at++;
    while (at < text.size() && !ends_word(at)) ++at;
    word(text.substr(start, at - start));
  }
}

}  // namespace primal::data
