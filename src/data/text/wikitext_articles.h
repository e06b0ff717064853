// Where the articles of a WikiText file begin: a line " = Title = " between blank lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

/// Where the lines of the titles begin, in order. The start and the end of the text are as good as blank lines.
std::vector<std::size_t> article_starts(std::string_view wikitext);

/// The texts of the articles, in order: their lines with one blank between them, without the title, and with blanks for
/// tabs, CR and zero bytes.
std::vector<std::string> articles_of(std::string_view wikitext);

}  // namespace primal::data
