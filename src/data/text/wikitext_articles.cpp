#include "data/text/wikitext_articles.h"

#include <algorithm>

#include "base/text.h"

namespace primal::data {
namespace {

std::string_view take_wikitext_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
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

/// `lines` begin with the title.
std::string text_of_article(std::string_view lines) {
  std::string article;
  take_wikitext_line(lines);
  while (!lines.empty()) append_wikitext_line(article, base::trim(take_wikitext_line(lines)));
  return article;
}

}  // namespace

std::vector<std::size_t> article_starts(std::string_view wikitext) {
  std::vector<std::size_t> starts;
  std::string_view before, rest = wikitext;
  while (!rest.empty()) {
    const std::size_t start = wikitext.size() - rest.size();
    const std::string_view line = base::trim(take_wikitext_line(rest));
    // A legend ("W = Wins , L = Losses") is broken into lines that look like titles, but not between blank ones.
    const bool is_alone = before.empty() && base::trim(rest.substr(0, rest.find('\n'))).empty();
    if (is_alone && is_wikitext_title(line)) starts.push_back(start);
    before = line;
  }
  return starts;
}

std::vector<std::string> articles_of(std::string_view wikitext) {
  std::vector<std::string> articles;
  std::vector<std::size_t> starts = article_starts(wikitext);
  starts.push_back(wikitext.size());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    articles.push_back(text_of_article(wikitext.substr(starts[i], starts[i + 1] - starts[i])));
  }
  return articles;
}

}  // namespace primal::data
