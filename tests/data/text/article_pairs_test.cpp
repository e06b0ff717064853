#include "data/text/article_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "data/text/document_pairs.h"
#include "data/text/wikitext_articles.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/real_data.h"
#include "support/token_sets.h"

namespace {

using primal::data::ArticlePairsRequest;
using primal::data::articles_of;
using primal::data::make_article_pairs;
using primal::tests::error_of;
using primal::tests::read;

using Texts = std::vector<std::string>;

TEST(Articles, BeginAtTitlesAndKeepTheirSections) {
  EXPECT_EQ(articles_of(
                " \n = One = \n \n first line . \n second . \n \n = = Part = = \n \n third . \n \n = Two = \n \n x \n"),
            (Texts{"first line . second . = = Part = = third .", "x"}));
}

TEST(Articles, ALineOfALegendIsNoTitle) {
  EXPECT_EQ(articles_of(" = One = \n \n Key : W \n = Wins , L = \n Losses \n"), (Texts{"Key : W = Wins , L = Losses"}));
}

TEST(Articles, WhatStandsBeforeTheFirstTitleIsNoArticle) {
  EXPECT_EQ(articles_of("lost \n \n = One = \n \n a\tb \n"), (Texts{"a b"}));
  EXPECT_TRUE(articles_of("no title\n").empty());
  EXPECT_TRUE(articles_of("").empty());
}

/// A passage as its id names it.
struct Place {
  std::size_t article, start;
};

Place place_of(const std::string& id) {
  const std::size_t between = id.find('_');
  return {std::stoul(id.substr(0, between)), std::stoul(id.substr(between + 1))};
}

struct Pair {
  bool related;
  Place place[2];
  std::string text[2];
};

std::vector<Pair> pairs_in(const std::filesystem::path& path) {
  std::vector<Pair> pairs;
  std::ifstream file(path);
  for (std::string label, ids[2], texts[2]; std::getline(file, label, '\t');) {
    for (std::string& id : ids) std::getline(file, id, '\t');
    std::getline(file, texts[0], '\t');
    std::getline(file, texts[1], '\n');
    pairs.push_back({label == "1.0", {place_of(ids[0]), place_of(ids[1])}, {texts[0], texts[1]}});
  }
  return pairs;
}

/// What is promised about every pair of a file made from these articles.
void expect_honest_pairs(const std::vector<Pair>& pairs, const Texts& articles, std::size_t most_bytes) {
  for (const Pair& pair : pairs) {
    for (int which : {0, 1}) {
      const auto& [article, start] = pair.place[which];
      const std::string& text = pair.text[which];
      ASSERT_EQ(articles.at(article).substr(start, text.size()), text);
      ASSERT_LE(text.size(), most_bytes);
      ASSERT_TRUE(start == 0 || articles[article][start - 1] == ' ') << "begins within a word";
      const std::size_t end = start + text.size();
      ASSERT_TRUE(end == articles[article].size() || articles[article][end] == ' ') << "ends within a word";
      ASSERT_GE(articles[article].size(), 2 * most_bytes);
    }
    const auto& [first, second] = pair.place;
    ASSERT_EQ(first.article == second.article, pair.related);
    if (!pair.related) continue;
    const int before = first.start < second.start ? 0 : 1;
    ASSERT_LE(pair.place[before].start + pair.text[before].size(), pair.place[1 - before].start) << "overlap";
  }
}

/// "w0 w1 w2 ..." of at least so many bytes; another letter for each article.
std::string words(char letter, std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += letter + std::to_string(i) + " ";
  return text;
}

std::string article(char letter, std::size_t bytes) {
  return std::string(" = ") + letter + " = \n \n " + words(letter, bytes) + "\n \n";
}

class ArticlePairs : public primal::tests::FolderTest {
 protected:
  ArticlePairs() {
    for (const char* part : {"train", "valid", "test"}) write_part(part, kLong);
  }
  void write_part(const std::string& part, const std::string& text) { write("wiki/wiki." + part + ".tokens", text); }

  ArticlePairsRequest request() const {
    return {
        .wikitext = folder / "wiki", .folder = folder / "out", .train = 200, .eval = 20, .test = 10, .most_bytes = 50};
  }
  std::filesystem::path file(const std::string& part) const {
    return folder / "out" / ("article_pairs." + part + ".tsv");
  }

  // d is too short for two passages of 50 bytes, though not for one.
  const std::string kLong = article('a', 130) + article('b', 400) + article('c', 100) + article('d', 90);
};

TEST_F(ArticlePairs, AreReadAsDocumentPairsHalfOfEachLabel) {
  ASSERT_TRUE(make_article_pairs(request()));
  for (const auto& [part, half] : std::map<std::string, int64_t>{{"train", 100}, {"eval", 10}, {"test", 5}}) {
    const auto set = primal::data::read_document_pairs(file(part), 4000);
    EXPECT_EQ(primal::tests::examples_by_class(set), (std::vector<int64_t>{half, half})) << part;
  }
}

TEST_F(ArticlePairs, OfOneArticleAreLabelledSoAndDoNotOverlap) {
  make_article_pairs(request());
  expect_honest_pairs(pairs_in(file("train")), articles_of(kLong), 50);
}

TEST_F(ArticlePairs, ComeFromAllArticlesThatAreLongEnoughInBothKinds) {
  make_article_pairs(request());
  std::map<std::size_t, int> related, unrelated;
  for (const Pair& pair : pairs_in(file("train"))) {
    for (const Place& place : pair.place) ++(pair.related ? related : unrelated)[place.article];
  }
  for (const auto& counts : {related, unrelated}) {
    EXPECT_EQ(counts.size(), 3U);
    EXPECT_GT(counts.at(1), counts.at(0)) << "a longer article comes more often";
    EXPECT_FALSE(counts.contains(3));
  }
}

TEST_F(ArticlePairs, DependOnTheSeedAndOnNothingElse) {
  make_article_pairs(request());
  const std::string first = read(file("train"));
  make_article_pairs(request());
  EXPECT_EQ(read(file("train")), first);
  auto other = request();
  other.seed = 2;
  make_article_pairs(other);
  EXPECT_NE(read(file("train")), first);
}

TEST_F(ArticlePairs, DoNotChangeWithTheirNumber) {
  make_article_pairs(request());
  const std::string many = read(file("train"));
  auto fewer = request();
  fewer.train = 20;
  make_article_pairs(fewer);
  EXPECT_TRUE(many.starts_with(read(file("train"))));
}

TEST_F(ArticlePairs, OfThePartsDiffer) {
  auto equal = request();
  equal.train = equal.eval = equal.test = 20;
  make_article_pairs(equal);
  EXPECT_NE(read(file("train")), read(file("eval")));
  EXPECT_NE(read(file("eval")), read(file("test")));
}

TEST_F(ArticlePairs, AWordLongerThanAPassageIsCut) {
  const std::string one_word =
      " = a = \n \n " + std::string(300, 'a') + " \n \n = b = \n \n " + std::string(300, 'b') + " \n";
  write_part("train", one_word);
  make_article_pairs(request());
  for (const Pair& pair : pairs_in(file("train"))) EXPECT_EQ(pair.text[0].size(), 50U);
}

TEST_F(ArticlePairs, TellHowFarTheyAre) {
  auto told = request();
  std::vector<int64_t> done;
  told.train = 1000;
  told.progress = [&](int64_t now, int64_t of) {
    EXPECT_EQ(of, 1030);
    done.push_back(now);
  };
  make_article_pairs(told);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_GT(done.size(), 4U);
  EXPECT_EQ(done.front(), 0);
  EXPECT_EQ(done.back(), 1030);
}

TEST_F(ArticlePairs, WriteNothingWhenTheyAreStopped) {
  auto stopped = request();
  int asked = 0;
  stopped.stop = [&] { return ++asked == 3; };  // in the third part: two files are complete
  EXPECT_FALSE(make_article_pairs(stopped));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST_F(ArticlePairs, TooFewLongArticlesAreRefused) {
  write_part("valid", article('a', 200) + article('b', 60));
  EXPECT_EQ(error_of([&] { make_article_pairs(request()); }),
            (folder / "wiki" / "wiki.valid.tokens").string() +
                ": expected at least 2 articles (\" = Title = \" between blank lines) of 100 bytes, got 1 of 2");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST_F(ArticlePairs, RequestsThatMakeNoSenseAreRefused) {
  auto odd = request();
  odd.eval = 7;
  EXPECT_EQ(error_of([&] { make_article_pairs(odd); }),
            "article pairs: expected an even number of pairs in eval, half of each label, got 7");
  auto none = request();
  none.most_bytes = 0;
  EXPECT_EQ(error_of([&] { make_article_pairs(none); }), "article pairs: expected passages of at least 1 byte, got 0");
}

class WikiText : public primal::tests::FolderTest {};

TEST_F(WikiText, HasItsPublishedNumberOfArticles) {
  const auto wikitext = primal::tests::real_data("language/wikitext-2");
  if (wikitext.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  EXPECT_EQ(articles_of(read(wikitext / "wiki.train.tokens")).size(), 600U);
  EXPECT_EQ(articles_of(read(wikitext / "wiki.valid.tokens")).size(), 60U);
  EXPECT_EQ(articles_of(read(wikitext / "wiki.test.tokens")).size(), 60U);
}

TEST_F(WikiText, GivesHonestPairs) {
  const auto wikitext = primal::tests::real_data("language/wikitext-2");
  if (wikitext.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  make_article_pairs({.wikitext = wikitext, .folder = folder, .train = 1000, .eval = 200, .test = 200});
  for (const auto& [part, name] :
       std::map<std::string, std::string>{{"train", "train"}, {"eval", "valid"}, {"test", "test"}}) {
    const auto pairs = pairs_in(folder / ("article_pairs." + part + ".tsv"));
    ASSERT_EQ(std::ssize(pairs), part == "train" ? 1000 : 200);
    EXPECT_EQ(std::ranges::count(pairs, true, &Pair::related), std::ssize(pairs) / 2);
    expect_honest_pairs(pairs, articles_of(read(wikitext / ("wiki." + name + ".tokens"))), 4000);
  }
}

}  // namespace
