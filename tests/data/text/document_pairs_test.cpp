#include "data/text/document_pairs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "support/token_sets.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::TokenSet;
using primal::tests::error_of;
using primal::tests::text_of;

TokenSet from_pairs(const std::string& text, int64_t most_bytes = 100) {
  return primal::data::read_document_pairs(primal::data::LineSource("a.tsv", text), most_bytes);
}

TEST(DocumentPairs, ALineIsALabelAndTwoTexts) {
  const TokenSet set = from_pairs("1.0\tP1\tP2\tfirst\tsecond one\n0.0\tP3\tP4\tthird\t\"fourth\"\r\n");
  EXPECT_EQ(set.per_example, 2);
  EXPECT_EQ(set.classes, (std::vector<std::string>{"unrelated", "related"}));
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(text_of(set, 0, 0), "first");
  EXPECT_EQ(text_of(set, 0, 1), "second one");
  EXPECT_EQ(text_of(set, 1, 0), "third");
  EXPECT_EQ(text_of(set, 1, 1), "\"fourth\"");
}

TEST(DocumentPairs, LabelsMayBeWholeNumbers) {
  EXPECT_EQ(from_pairs("1\ta\tb\tx\ty\n0\ta\tb\tx\ty\n").labels, (std::vector<uint8_t>{1, 0}));
}

TEST(DocumentPairs, EachTextIsCut) {
  const TokenSet set = from_pairs("1.0\ta\tb\t12345\t123\n", 4);
  EXPECT_EQ(text_of(set, 0, 0), "1234");
  EXPECT_EQ(text_of(set, 0, 1), "123");
}

struct Broken {
  std::string text, expected;
  friend void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.expected; }
};

class BrokenDocumentPairs : public testing::TestWithParam<Broken> {};

TEST_P(BrokenDocumentPairs, IsRefusedWithLineAndValue) {
  EXPECT_EQ(error_of([] { from_pairs(GetParam().text); }), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenDocumentPairs,
    testing::Values(
        Broken{"", "a.tsv: is empty, expected pairs of documents"},
        Broken{"1.0\ta\tb\tx\ty\n1.0\ta\tb\tx\n",
               "a.tsv:2: expected 5 columns with tabs between them (label, id, id, text, text), got 4"},
        Broken{"1.0\ta\tb\tx\ty\tz\n",
               "a.tsv:1: expected 5 columns with tabs between them (label, id, id, text, text), got 6"},
        Broken{"2.0\ta\tb\tx\ty\n", "a.tsv:1: column 1: expected a label of 0, 1, unrelated or related, got \"2.0\""},
        Broken{"-1\ta\tb\tx\ty\n", "a.tsv:1: column 1: expected a label of 0, 1, unrelated or related, got \"-1\""},
        Broken{"1.0\ta\tb\t\ty\n", "a.tsv:1: column 4: expected a text, got nothing"},
        Broken{"1.0\ta\tb\tx\t\n", "a.tsv:1: column 5: expected a text, got nothing"},
        Broken{"1.0\ta\tb\tx\t\0\n"s,
               "a.tsv:1: expected text, got a zero byte at column 11 (is the file binary or UTF-16?)"}));

TEST(DocumentPairs, NothingLeftOfATextIsRefused) {
  EXPECT_EQ(error_of([] { from_pairs("1.0\ta\tb\tx\ty\n", -1); }),
            "a.tsv: expected to keep at least 1 byte of a text, got -1");
}

using DocumentPairsFile = primal::tests::FolderTest;

TEST_F(DocumentPairsFile, IsReadByItsPath) {
  EXPECT_EQ(primal::data::read_document_pairs(write("a.tsv", "1.0\ta\tb\tx\ty\n"), 100).examples(), 1);
}

TEST_F(DocumentPairsFile, AFolderIsRefused) {
  EXPECT_EQ(error_of([&] { primal::data::read_document_pairs(folder, 100); }),
            folder.string() + ": is a directory, expected a file of document pairs");
}

}  // namespace
