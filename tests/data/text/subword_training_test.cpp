#include "data/text/subword_training.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/text/coder_from_json.h"
#include "data/text/subword_coder.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::data;
using primal::tests::contains;
using primal::tests::error_of;

class Subwords : public primal::tests::FolderTest {
 protected:
  Subwords() {
    for (int i = 0; i < 300; ++i) {
      text += "The lobster number " + std::to_string(i * 7919) + " is caught in the sea , <unk> says the fisherman .\n";
    }
  }
  void SetUp() override {
    try {
      require_subword_support("subwords");
    } catch (const primal::Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::vector<TextPiece> pieces() { return {{.file = write("a.txt", text)}}; }
  std::string trained(int64_t size = 350) { return train_subwords(pieces(), {.size = size}); }

  std::string text;
};

TEST_F(Subwords, IdsAreThoseOfTheWordCoder) {
  const SubwordCoder coder(trained(), "model");
  EXPECT_EQ(coder.unit(), "subwords");
  EXPECT_EQ(coder.size(), 350);
  EXPECT_EQ(coder.text_of(0, {}), "");
  EXPECT_EQ(coder.padding(), 1);
  EXPECT_EQ(coder.end(), 2);
  EXPECT_EQ(coder.unknown(), 3);
  EXPECT_FALSE(coder.ends_lines());
  EXPECT_FALSE(coder.is_written(1));
  EXPECT_TRUE(coder.is_written(2));
}

TEST_F(Subwords, AnyTextComesBack) {
  const SubwordCoder coder(trained(), "model");
  for (const std::string& one : {text, std::string("  two  blanks\t\r\n\n \u00e9\u2603\U0001f99e<s></s><0x41> "),
                                 std::string("\n"), std::string()}) {
    std::vector<int32_t> ids;
    coder.encode(one, "a.txt", ids);
    EXPECT_EQ(coder.decode(ids), one);
  }
  std::vector<int32_t> ids;
  coder.encode("The lobster", "a.txt", ids);
  EXPECT_LT(ids.size(), 6U);  // pieces, not letters
}

TEST_F(Subwords, PiecesThatEndWithALineEndGiveTheIdsOfTheWhole) {
  const SubwordCoder coder(trained(), "model");
  std::vector<int32_t> whole, parts;
  coder.encode("The sea\n the lobster\n", "a.txt", whole);
  coder.encode("The sea\n", "a.txt", parts);
  coder.encode(" the lobster\n", "a.txt", parts);
  EXPECT_EQ(whole, parts);
}

TEST_F(Subwords, TheModelIsKeptInJsonAndReadFromFiles) {
  const std::string model = trained();
  const SubwordCoder coder(model, "model");
  const auto again = coder_from_json(coder.to_json(), "data.json");
  EXPECT_EQ(again->fingerprint(), coder.fingerprint());
  EXPECT_EQ(read_subword_model(write("m.model", model))->fingerprint(), coder.fingerprint());
}

TEST_F(Subwords, WhatIsNoModelIsRefused) {
  const auto file = write("m.model", "no model");
  EXPECT_TRUE(contains(error_of([&] { read_subword_model(file); }), file.string() + ": is no model of sentencepiece"));
  EXPECT_TRUE(contains(error_of([&] { SubwordCoder("", "empty"); }), "empty: is no model of sentencepiece"));
}

TEST_F(Subwords, TheSameTextGivesTheSameModel) { EXPECT_EQ(trained(), trained()); }

TEST_F(Subwords, OfALongTextLinesAllOverItAreTaken) {
  std::string both;
  for (int i = 0; i < 2000; ++i) both += i < 1000 ? "aaab aaab\n" : "yyyz yyyz\n";
  const std::vector<TextPiece> train = {{.file = write("b.txt", both)}};
  const SubwordCoder coder(train_subwords(train, {.size = 270, .most_bytes = 1000}), "model");
  for (const char* word : {" aaab", " yyyz"}) {
    std::vector<int32_t> ids;
    coder.encode(word, "b.txt", ids);
    EXPECT_LE(ids.size(), 3U) << word;
  }
}

TEST_F(Subwords, TextsWithoutBlanksOrLineEndsWillDo) {
  for (const std::string& one : {std::string(100000, 'x'), std::string("x x"), std::string("x")}) {
    const std::vector<TextPiece> train = {{.file = write("c.txt", one)}};
    EXPECT_NO_THROW(SubwordCoder(train_subwords(train, {.size = 262}), "model")) << one.size();
  }
}

TEST_F(Subwords, ANumberThatTheTextCannotGiveIsAnError) {
  text = "a b\n";
  EXPECT_EQ(error_of([&] { trained(300); }),
            "subwords of " + (folder / "a.txt").string() +
                ": sentencepiece cannot make 300 of them: Vocabulary size too high (300). Please set it to a value <= "
                "264.");
  EXPECT_EQ(error_of([&] { trained(260); }), "subwords: expected 261 to 1000000 of them, got 260");
  EXPECT_EQ(error_of([&] { train_subwords({}); }), "subwords: expected a text to learn them from, got none");
  text = "a\n\xff";
  EXPECT_TRUE(contains(error_of([&] { trained(); }), "a.txt:2: column 1: expected UTF-8 text"));
}

}  // namespace
