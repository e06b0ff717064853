#include "data/text/article_pairs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/write_failure.h"
#include "data/text/wikitext_articles.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPairsBetweenReports = 256;  // a few milliseconds, and 2 MB to write

struct PairPart {
  std::string_view wikitext, ours;  // what the part is called in the names of the files
  int64_t pairs;
  uint64_t purpose;  // of its random numbers
};

std::array<PairPart, 3> parts_of(const ArticlePairsRequest& request) {
  return {
      {{"train", "train", request.train, 30}, {"valid", "eval", request.eval, 31}, {"test", "test", request.test, 32}}};
}

void check_article_pairs(const ArticlePairsRequest& request) {
  for (const PairPart& part : parts_of(request)) {
    if (part.pairs < 2 || part.pairs % 2 != 0) {
      base::fail("article pairs", "expected an even number of pairs in ", part.ours, ", half of each label, got ",
                 part.pairs);
    }
  }
  if (request.most_bytes < 1) {
    base::fail("article pairs", "expected passages of at least 1 byte, got ", request.most_bytes);
  }
}

struct Passage {
  std::size_t article = 0, start = 0;
  std::string_view text;
};

/// The words that lie in the window as a whole, or the window itself if it lies within one word.
std::string_view whole_words(std::string_view article, std::size_t start, std::size_t size) {
  std::size_t first = start, end = start + size;
  if (first > 0 && article[first - 1] != ' ') first = std::min(article.find(' ', first), end);
  if (end < article.size() && article[end] != ' ') end = article.rfind(' ', end) + 1;  // 0 if there is none
  while (first < end && article[first] == ' ') ++first;
  while (first < end && article[end - 1] == ' ') --end;
  return first < end ? article.substr(first, end - first) : article.substr(start, size);
}

/// Pairs of passages from the articles of one part.
class PairDrawer {
 public:
  PairDrawer(const fs::path& wikitext, int64_t most_bytes) : size_(static_cast<std::size_t>(most_bytes)) {
    const base::MappedFile file(wikitext, "a file of WikiText");
    articles_ = articles_of(file.text());
    std::size_t long_enough = 0;
    for (std::size_t i = 0; i < articles_.size(); ++i) {
      const std::size_t passages = articles_[i].size() / size_;
      if (passages < 2) continue;
      ++long_enough;
      chances_.insert(chances_.end(), passages, i);
    }
    if (long_enough >= 2) return;
    base::fail(wikitext.string(), "expected at least 2 articles (\" = Title = \" between blank lines) of ", 2 * size_,
               " bytes, got ", long_enough, " of ", articles_.size());
  }

  std::pair<Passage, Passage> draw(base::Random& random, bool same_article) const {
    const std::size_t article = draw_article(random);
    auto pair = draw_apart(random, article);
    if (same_article) return pair;
    std::size_t other = article;
    while (other == article) other = draw_article(random);
    pair.second = draw_apart(random, other).second;
    return pair;
  }

 private:
  /// The longer an article is, the more often it comes, as it has more to say.
  std::size_t draw_article(base::Random& random) const { return chances_[random.below(chances_.size())]; }

  /// Two passages of an article that do not overlap, in any order.
  std::pair<Passage, Passage> draw_apart(base::Random& random, std::size_t article) const {
    const std::size_t room = articles_[article].size() - 2 * size_;
    const std::size_t a = random.below(room + 1), b = random.below(room + 1);
    auto pair = std::pair(passage(article, std::min(a, b)), passage(article, std::max(a, b) + size_));
    if (random.below(2) == 1) std::swap(pair.first, pair.second);
    return pair;
  }

  Passage passage(std::size_t article, std::size_t start) const {
    const std::string_view text = whole_words(articles_[article], start, size_);
    return {article, static_cast<std::size_t>(text.data() - articles_[article].data()), text};
  }

  std::size_t size_;
  std::vector<std::string> articles_;
  std::vector<std::size_t> chances_;  // an article for each passage that it has room for, if it has room for two
};

void append_pair(std::string& lines, bool same_article, const std::pair<Passage, Passage>& pair) {
  lines += same_article ? "1.0" : "0.0";
  for (const Passage& passage : {pair.first, pair.second}) {
    lines += '\t' + std::to_string(passage.article) + '_' + std::to_string(passage.start);
  }
  for (const Passage& passage : {pair.first, pair.second}) {
    lines += '\t';
    lines += passage.text;
  }
  lines += '\n';
}

/// Pairs number `first` and following of a part. Labels take turns, so that any beginning of a file is balanced too.
std::string lines_of_pairs(const PairDrawer& drawer, const PairPart& part, int64_t seed, int64_t first, int64_t count) {
  std::string lines;
  for (int64_t number = first; number < first + count; ++number) {
    auto random = base::Random::numbered(static_cast<uint64_t>(seed), part.purpose, static_cast<uint64_t>(number));
    const bool same_article = number % 2 == 0;
    append_pair(lines, same_article, drawer.draw(random, same_article));
  }
  return lines;
}

}  // namespace

bool make_article_pairs(const ArticlePairsRequest& request) {
  check_article_pairs(request);
  std::error_code error;
  fs::create_directories(request.folder, error);
  if (error) base::fail_writing(request.folder, "create the folder", error);

  const int64_t pairs = request.train + request.eval + request.test;
  int64_t done = 0;
  std::list<base::AtomicFile> files;  // appear together, at the end
  for (const PairPart& part : parts_of(request)) {
    const PairDrawer drawer(request.wikitext / ("wiki." + std::string(part.wikitext) + ".tokens"), request.most_bytes);
    auto& file = files.emplace_back(request.folder / ("article_pairs." + std::string(part.ours) + ".tsv"));
    for (int64_t first = 0; first < part.pairs; first += kPairsBetweenReports) {
      if (request.progress) request.progress(done, pairs);
      if (request.stop && request.stop()) return false;
      const int64_t count = std::min(kPairsBetweenReports, part.pairs - first);
      const std::string lines = lines_of_pairs(drawer, part, request.seed, first, count);
      file.write(lines.data(), lines.size());
      done += count;
    }
  }
  for (base::AtomicFile& file : files) file.commit();
  if (request.progress) request.progress(pairs, pairs);
  return true;
}

}  // namespace primal::data
