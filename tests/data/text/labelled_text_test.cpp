#include "data/text/labelled_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "support/real_data.h"
#include "support/token_sets.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::LineSource;
using primal::data::TokenSet;
using primal::tests::error_of;
using primal::tests::text_of;
using primal::tests::texts_of;

TokenSet from_tsv(const std::string& text, int64_t most_bytes = 100) {
  return primal::data::read_labelled_text(LineSource("a.tsv", text), most_bytes);
}

TEST(LabelledText, ALineIsALabelAndAText) {
  const TokenSet set = from_tsv("0\t3\t0_3\tdull <br />\n1\t9\t7_9\tfine\n");
  EXPECT_EQ(set.per_example, 1);
  EXPECT_EQ(set.classes, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(texts_of(set), (std::vector<std::string>{"dull <br />", "fine"}));
}

TEST(LabelledText, LabelsAreNumbersOrWords) {
  const TokenSet set = from_tsv("pos\t\t\ta\nneg\t\t\tb\n1.0\t\t\tc\n0.0\t\t\td\n");
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{1, 0, 1, 0}));
}

TEST(LabelledText, BytesStayAsTheyAre) {
  EXPECT_EQ(text_of(from_tsv("1\t9\t0_9\t \xff\x85\xc3\xa9 \"x\r\r\n"), 0), " \xff\x85\xc3\xa9 \"x\r");
}

TEST(LabelledText, TheLastLineMayLackItsEnd) { EXPECT_EQ(from_tsv("1\t9\t0_9\ta\n0\t1\t0_1\tb").examples(), 2); }

TEST(LabelledText, TextsAreCutAtBytesNotCharacters) {
  const TokenSet set = from_tsv("1\t9\t0_9\tab\xc3\xa9\n0\t1\t0_1\tab\n", 3);
  EXPECT_EQ(texts_of(set), (std::vector<std::string>{"ab\xc3", "ab"}));
}

struct BrokenFile {
  std::string text, expected;
  friend void PrintTo(const BrokenFile& broken, std::ostream* out) { *out << broken.expected; }
};

class BrokenLabelledText : public testing::TestWithParam<BrokenFile> {};

TEST_P(BrokenLabelledText, IsRefusedWithLineAndValue) {
  EXPECT_EQ(error_of([] { from_tsv(GetParam().text); }), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenLabelledText,
    testing::Values(
        BrokenFile{"", "a.tsv: is empty, expected labelled texts"},
        BrokenFile{"0\t1\t0_1\ta\n1\t9\tb\n",
                   "a.tsv:2: expected 4 columns with tabs between them (label, rating, id, text), got 3"},
        BrokenFile{"0\t1\t0_1\ta\tb\n",
                   "a.tsv:1: expected 4 columns with tabs between them (label, rating, id, text), got 5"},
        BrokenFile{"0\t1\t0_1\ta\n\n",
                   "a.tsv:2: expected 4 columns with tabs between them (label, rating, id, text), got 1"},
        BrokenFile{"label\trating\tid\ttext\n",
                   "a.tsv:1: column 1: expected a label of 0, 1, neg or pos, got \"label\""},
        BrokenFile{"2\t1\t0_1\ta\n", "a.tsv:1: column 1: expected a label of 0, 1, neg or pos, got \"2\""},
        BrokenFile{"0.5\t1\t0_1\ta\n", "a.tsv:1: column 1: expected a label of 0, 1, neg or pos, got \"0.5\""},
        BrokenFile{"nan\t1\t0_1\ta\n", "a.tsv:1: column 1: expected a label of 0, 1, neg or pos, got \"nan\""},
        BrokenFile{"\t1\t0_1\ta\n", "a.tsv:1: column 1: expected a label of 0, 1, neg or pos, got \"\""},
        BrokenFile{"0\t1\t0_1\t\n", "a.tsv:1: column 4: expected a text, got nothing"},
        BrokenFile{"0\t1\t0_1\ta\0b\n"s,
                   "a.tsv:1: expected text, got a zero byte at column 10 (is the file binary or UTF-16?)"}));

TEST(LabelledText, NothingLeftOfATextIsRefused) {
  EXPECT_EQ(error_of([] { from_tsv("1\t9\t0_9\ta\n", 0); }),
            "a.tsv: expected to keep at least 1 byte of a text, got 0");
}

class LabelledFolder : public primal::tests::FolderTest {
 protected:
  TokenSet from_folder(int64_t most_bytes = 100) const {
    return primal::data::read_labelled_text(folder / "train", most_bytes);
  }
  std::string at(const std::string& name) const { return (folder / name).string(); }
};

TEST_F(LabelledFolder, FilesComeByClassThenNumberThenName) {
  write("train/pos/3_9.txt", "good");
  write("train/neg/10_2.txt", "c");
  write("train/neg/9_4.txt", "b");
  write("train/neg/9_1.txt", "a");
  write("train/neg/extra.txt", "d");
  const TokenSet set = from_folder();
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(texts_of(set), (std::vector<std::string>{"a", "b", "c", "d", "good"}));
}

TEST_F(LabelledFolder, OtherFilesArePassedOver) {
  write("train/neg/0_1.txt", "a");
  write("train/pos/0_9.txt", "b");
  write("train/pos/README", "no review");
  write("train/unsup/0_0.txt", "no label");
  EXPECT_EQ(from_folder().examples(), 2);
}

TEST_F(LabelledFolder, AFileIsATextWithAllItsLines) {
  write("train/neg/0_1.txt", "a\tb\r\nc\n");
  write("train/pos/0_9.txt", "0123456789");
  EXPECT_EQ(texts_of(from_folder(8)), (std::vector<std::string>{"a\tb\r\nc\n", "01234567"}));
}

TEST_F(LabelledFolder, AFileOfLinesIsReadByItsPath) {
  EXPECT_EQ(primal::data::read_labelled_text(write("a.tsv", "1\t9\t0_9\ta\n"), 100).examples(), 1);
}

TEST_F(LabelledFolder, WhatIsMissingIsNamed) {
  EXPECT_EQ(error_of([&] { from_folder(); }), at("train") + ": cannot open: No such file or directory");
  write("train/pos/0_9.txt", "a");
  EXPECT_EQ(error_of([&] { from_folder(); }), at("train/neg") + ": expected a folder of reviews, got none");
  write("train/neg/README", "a");
  EXPECT_EQ(error_of([&] { from_folder(); }),
            at("train/neg") + ": expected reviews such as 0_3.txt, got no file that ends in .txt");
  write("train/neg/0_1.txt", "");
  EXPECT_EQ(error_of([&] { from_folder(); }), at("train/neg/0_1.txt") + ": is empty, expected a text");
  write("train/neg/0_1.txt", "a\0b"s);
  EXPECT_EQ(error_of([&] { from_folder(); }),
            at("train/neg/0_1.txt") + ": expected text, got a zero byte at byte 2 (is the file binary or UTF-16?)");
}

TEST(Imdb, HasItsPublishedSize) {
  const auto folder = primal::tests::real_data("lra/imdb");
  if (folder.empty()) GTEST_SKIP() << primal::tests::kNoRealData;
  for (const char* name : {"imdb_train.tsv", "imdb_test.tsv"}) {
    const TokenSet set = primal::data::read_labelled_text(folder / name, 4000);
    EXPECT_EQ(primal::tests::examples_by_class(set), (std::vector<int64_t>{12500, 12500})) << name;
    int64_t longest = 0;
    for (int64_t i = 0; i < set.examples(); ++i) longest = std::max(longest, set.length(i));
    EXPECT_EQ(longest, 4000) << name;
  }
}

}  // namespace
