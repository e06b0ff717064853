#include "data/text/word_coder.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "data/text/coder_from_json.h"
#include "data/text/word_counts.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/real_data.h"

namespace {

using nlohmann::json;
using namespace primal::data;
using primal::tests::error_of;

using Ids = std::vector<int32_t>;
using Texts = std::vector<std::string>;

Ids encoded(const TextCoder& coder, std::string_view text, const EncodeOptions& options = {}) {
  Ids ids;
  coder.encode(text, "a.txt", ids, options);
  return ids;
}

TEST(WordCoder, WordsStandBetweenBlanksAndLinesHaveAnEnd) {
  const WordCoder coder({"the", "lobster"}, 2, "test");
  EXPECT_EQ(encoded(coder, " the\t lobster \n\nthe red <unk>\r\n"), (Ids{4, 5, 2, 2, 4, 3, 3, 2}));
  EXPECT_EQ(encoded(coder, "the"), (Ids{4}));  // a piece that may go on
  EXPECT_EQ(coder.size(), 8);
  EXPECT_EQ(coder.words(), 2);
  EXPECT_EQ(coder.end(), 2);
  EXPECT_TRUE(coder.ends_lines());
  EXPECT_EQ(coder.padding(), 1);
  EXPECT_EQ(coder.unknown(), 3);
}

TEST(WordCoder, DecodesToWordsAndLines) {
  const WordCoder coder({"the", "lobster"}, 2, "test");
  EXPECT_EQ(coder.decode(Ids{4, 5, 2, 2, 4, 3}), "the lobster\n\nthe <unk>");
  EXPECT_EQ(coder.decode(Ids{0, 4, 1, 5}), "thelobster");
  EXPECT_EQ(coder.decode(Ids{6, 7}), "<unused 0> <unused 1>");
  EXPECT_EQ(coder.decode(Ids{}), "");
  TextDecoder goes_on(coder, 4);  // after "the"
  EXPECT_EQ(goes_on.add(5), " lobster");
}

TEST(WordCoder, MarksInATextAreWordsLikeOthers) {
  const WordCoder coder({"</s>", "<s>"}, 0, "test");
  EXPECT_EQ(encoded(coder, "<s> </s> <pad>\n"), (Ids{5, 4, 3, 2}));
}

TEST(WordCoder, TextComesBackUpToWhitespace) {
  std::mt19937 random(1);
  const Texts words = {"a", "bc", "\u00e9t\u00e9", "=", "</s>"};
  const WordCoder coder(words, 3, "test");
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::string loose, tight;
    for (std::size_t line = random() % 5; line > 0; --line) {
      loose += std::string(random() % 3, ' ');
      for (std::size_t i = 0, count = random() % 4; i < count; ++i) {
        const std::string& word = words[random() % words.size()];
        tight += (i == 0 ? "" : " ") + word;
        loose += word + std::string(1 + random() % 2, " \t"[random() % 2]);
      }
      tight += '\n';
      loose += '\n';
    }
    EXPECT_EQ(coder.decode(encoded(coder, loose)), tight);
    EXPECT_EQ(encoded(coder, loose), encoded(coder, tight));
  }
}

TEST(WordCoder, WhatIsNoTextIsRefusedWithLineAndColumn) {
  const WordCoder coder({"a"}, 0, "test");
  EXPECT_EQ(error_of([&] { encoded(coder, "a a\na \xff\n"); }),
            "a.txt:2: column 3: expected UTF-8 text, got the byte \\xff");
  EXPECT_EQ(error_of([&] { encoded(coder, std::string_view("a\0b", 3), {.first_line = 7}); }),
            "a.txt:7: column 2: expected UTF-8 text, got the byte \\x00");
}

TEST(WordCoder, StrictNamesTheFirstUnknownWordAndHowManyThereAre) {
  const WordCoder coder({"a"}, 0, "test");
  EXPECT_EQ(encoded(coder, "a <unk>\na", {.strict = true}), (Ids{4, 3, 2, 4}));
  EXPECT_EQ(error_of([&] { encoded(coder, "a\na b", {.strict = true}); }),
            "a.txt:2: expected words of the vocabulary, got \"b\"");
  EXPECT_EQ(error_of([&] { encoded(coder, "a\na b c\nb", {.strict = true}); }),
            "a.txt:2: expected words of the vocabulary, got \"b\" and 2 more outside it");
}

TEST(WordCoder, IsMadeAgainFromItsJson) {
  const WordCoder coder({"the", "\u00e9"}, 2, "test");
  const auto again = coder_from_json(json::parse(coder.to_json().dump()), "data.json");
  EXPECT_EQ(again->to_json(), coder.to_json());
  EXPECT_EQ(again->fingerprint(), coder.fingerprint());
  EXPECT_EQ(again->size(), 8);
  EXPECT_EQ(encoded(*again, "\u00e9 the\n"), (Ids{5, 4, 2}));
  EXPECT_NE(coder.fingerprint(), WordCoder({"the", "e"}, 2, "test").fingerprint());
}

TEST(WordCoder, AVocabularyThatNoTextCanHaveIsRefused) {
  const auto error = [](const json& words, const json& unused = 0) {
    return error_of([&] { coder_from_json({{"unit", "words"}, {"words", words}, {"unused", unused}}, "data.json"); });
  };
  EXPECT_EQ(error({"a", "b c"}), "data.json: expected a word without blanks, in UTF-8, got \"b c\"");
  EXPECT_EQ(error({""}), "data.json: expected a word without blanks, in UTF-8, got \"\"");
  EXPECT_EQ(error({"a\n"}), "data.json: expected a word without blanks, in UTF-8, got \"a\\n\"");
  EXPECT_EQ(error({"a", "b", "a"}), "data.json: the word \"a\" comes twice");
  EXPECT_EQ(error({"<unk>"}), "data.json: the word \"<unk>\" comes twice");
  EXPECT_EQ(error({1}), "data.json: field \"words\": expected strings, got 1");
  EXPECT_EQ(error("a"), "data.json: field \"words\": expected an array, got a value of kind string");
  EXPECT_EQ(error({"a"}, -1), "data.json: field \"unused\": expected a whole number from 0, got -1");
  EXPECT_EQ(error({"a"}, 3'000'000'000),
            "data.json: expected at most 2147483647 ids, got 1 words and 3000000000 unused");
}

class Vocabulary : public primal::tests::FolderTest {
 protected:
  Texts words(const VocabularyOptions& options = {}, int64_t threads = 1) const {
    const std::vector<TextPiece> pieces = {{.file = file}};
    return make_word_coder(pieces, options, threads)->to_json().at("words").get<Texts>();
  }

  std::filesystem::path file = write("train.txt", "b a c a\n <unk> b \xc3\xa9 Z <unk> a <unk> <unk>\n");
};

TEST_F(Vocabulary, TheMostFrequentFirstThenByBytes) {
  EXPECT_EQ(words(), (Texts{"a", "b", "Z", "c", "\u00e9"}));
  const auto counts = count_words(std::vector<TextPiece>{{.file = file}});
  EXPECT_EQ(counts.front().word, "<unk>");
  EXPECT_EQ(counts.front().count, 4);
}

TEST_F(Vocabulary, RareWordsAndThoseBeyondALimitAreLeftOut) {
  EXPECT_EQ(words({.threshold = 2}), (Texts{"a", "b"}));
  EXPECT_EQ(words({.most = 3}), (Texts{"a", "b", "Z"}));
}

TEST_F(Vocabulary, UnusedIdsMakeTheirNumberAMultiple) {
  const std::vector<TextPiece> pieces = {{.file = file}};
  EXPECT_EQ(make_word_coder(pieces)->size(), 16);  // 4 marks and 5 words
  EXPECT_EQ(make_word_coder(pieces, {.multiple = 1})->size(), 9);
  EXPECT_EQ(make_word_coder(pieces, {.multiple = 9})->size(), 9);
}

TEST_F(Vocabulary, DoesNotDependOnTheNumberOfThreads) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < 3'500'000) {
    text += "w" + std::to_string(random() % 5000 * (random() % 3)) + (random() % 9 == 0 ? "\n" : " ");
  }
  file = write("long.txt", text);
  const Texts expected = words();
  EXPECT_GT(expected.size(), 5000U);
  for (const int64_t threads : {2, 5}) EXPECT_EQ(words({}, threads), expected);
}

TEST_F(Vocabulary, MistakesOfATextAreToldOfTheirLine) {
  std::string text;
  while (text.size() < 3'000'000) text += "some words of a line\n";
  const auto lines = text.size() / 21;
  file = write("bad.txt", text + "bad \xc3\n" + text + "\xff");
  for (const int64_t threads : {1, 4}) {
    EXPECT_EQ(error_of([&] { words({}, threads); }),
              file.string() + ":" + std::to_string(lines + 1) + ": column 5: expected UTF-8 text, got the byte \\xc3");
  }
}

TEST_F(Vocabulary, WithoutAWordIsRefused) {
  EXPECT_EQ(error_of([&] { words({.threshold = 4}); }),
            file.string() + ": expected words that come at least 4 times, got none");
  file = write("empty.txt", "");
  EXPECT_EQ(error_of([&] { words(); }), file.string() + ": is empty, expected text");
  EXPECT_EQ(error_of([&] { words({.threshold = 0}); }), "vocabulary: expected a threshold of at least 1, got 0");
}

TEST(WikiText2, HasThePublishedVocabulary) {
  const auto folder = primal::tests::real_data("language/wikitext-2");
  if (folder.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  const std::vector<TextPiece> train = {{.file = folder / "wiki.train.tokens"}};
  // 33,278 types are published: the words of TRAIN, <unk> among them, and the end of a line.
  EXPECT_EQ(count_words(train, 2).size(), 33278U - 1);
  // <unk> and the end have two of the four marks; so there are two ids more, <s> and <pad>, which is a multiple of 8.
  const auto coder = make_word_coder(train, {}, 2);
  EXPECT_EQ(coder->words(), 33278 - 2);
  EXPECT_EQ(coder->size(), 33278 + 2);
  EXPECT_EQ(coder->text_of(WordCoder::kFirstWord, std::nullopt), "the");
}

}  // namespace
