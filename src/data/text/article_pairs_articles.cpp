// Where the articles of a WikiText file begin and end.
#include <algorithm>

#include "base/text.h"
#include "data/text/article_pairs.h"

namespace primal::data {
namespace {

std::string_view take_wikitext_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return base::trim(line);
}

/// "= Title =" and not "= = Section = =".
bool is_wikitext_title(std::string_view line) {
  return line.size() > 4 && line.starts_with("= ") && line.ends_with(" =") && line[2] != '=' &&
         line[line.size() - 3] != '=';
}

/// What LineSource or the splitting at tabs would stumble over.
bool cannot_be_in_column(char c) { return c == '\t' || c == '\r' || c == '\0'; }

void append_wikitext_line(std::string& article, std::string_view line) {
  if (line.empty()) return;
  if (!article.empty()) article += ' ';
  article += line;
  std::replace_if(article.end() - std::ssize(line), article.end(), cannot_be_in_column, ' ');
}

}  // namespace

std::vector<std::string> articles_of(std::string_view wikitext) {
  std::vector<std::string> articles;
  std::string_view before;  // the start of the file is as good as a blank line
  std::string_view line = take_wikitext_line(wikitext);
  while (!wikitext.empty() || !line.empty()) {
    const std::string_view after = take_wikitext_line(wikitext);
    // A legend ("W = Wins , L = Losses") is broken into lines that look like titles, but not between blank ones.
    if (before.empty() && after.empty() && is_wikitext_title(line)) {
      articles.emplace_back();
    } else if (!articles.empty()) {
      append_wikitext_line(articles.back(), line);
    }
    before = line;
    line = after;
  }
  return articles;
}

}  // namespace primal::data
