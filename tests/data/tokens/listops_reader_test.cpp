#include "data/tokens/listops_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::kMostListOpsTokens;
using primal::data::LineSource;
using primal::data::read_listops;
using primal::data::TokenSet;
using primal::tests::error_of;

const std::string kHeader = "Source\tTarget\n";

TokenSet from_text(const std::string& text) { return read_listops(LineSource("a.tsv", text)); }

std::vector<uint8_t> tokens(const TokenSet& set, int64_t example) {
  return {set.sequence(example).begin(), set.sequence(example).end()};
}

std::string error_in(const std::string& text) {
  return error_of([&] { from_text(text); });
}

/// The message about a second line, without its place.
std::string error_in_line(const std::string& line) {
  const std::string message = error_in(kHeader + line + "\n"), place = "a.tsv:2: ";
  EXPECT_EQ(message.substr(0, place.size()), place);
  return message.substr(std::min(place.size(), message.size()));
}

TEST(ListOpsReader, TokensHaveFixedNumbersAndParenthesesAreLeftOut) {
  const TokenSet set = from_text(kHeader +
                                 "( ( ( ( [MAX 2 ) ( ( ( [MIN 8 ) 5 ) ] ) ) ( ( ( [SM 7 ) 6 ) ] ) ) ] )\t5\n"
                                 "( ( ( ( ( ( ( ( [MED 0 ) 1 ) 3 ) 4 ) 9 ) 9 ) ] )\t3\n"
                                 "7\t7\n");
  EXPECT_EQ(set.examples(), 3);
  EXPECT_EQ(set.per_example, 1);
  EXPECT_EQ(tokens(set, 0), (std::vector<uint8_t>{11, 2, 10, 8, 5, 14, 13, 7, 6, 14, 14}));
  EXPECT_EQ(tokens(set, 1), (std::vector<uint8_t>{12, 0, 1, 3, 4, 9, 9, 14}));
  EXPECT_EQ(tokens(set, 2), (std::vector<uint8_t>{7}));
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{5, 3, 7}));
  EXPECT_EQ(set.classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST(ListOpsReader, LineEndsAndAByteOrderMarkDoNotMatter) {
  const std::string expected = "( ( ( [SM 7 ) 6 ) ] )\t3";
  for (const std::string& text : {"Source\tTarget\n" + expected + "\n", "Source\tTarget\r\n" + expected + "\r\n",
                                  "Source\tTarget\n" + expected, "\xef\xbb\xbfSource\tTarget\r\n" + expected}) {
    const TokenSet set = from_text(text);
    EXPECT_EQ(tokens(set, 0), (std::vector<uint8_t>{13, 7, 6, 14}));
    EXPECT_EQ(set.labels, (std::vector<uint8_t>{3}));
  }
}

TEST(ListOpsReader, BlanksMayBeManyAndAreNotNeededBesideParentheses) {
  for (const std::string source : {"[SM 7 6 ]", "((([SM 7) 6) ])", "(((  [SM(7)(6)  ])  )", " [SM 7 6 ] "}) {
    EXPECT_EQ(tokens(from_text(kHeader + source + "\t3\n"), 0), (std::vector<uint8_t>{13, 7, 6, 14})) << source;
  }
  EXPECT_EQ(tokens(from_text(kHeader + "[SM\t3\n"), 0), (std::vector<uint8_t>{13}));
}

TEST(ListOpsReader, AnUnknownTokenIsNamedWithItsColumn) {
  const std::string expected = "expected a digit, [MIN, [MAX, [MED, [SM or ] at column ";
  EXPECT_EQ(error_in_line("( ( [MIN 4 ) x )\t4"), expected + "14, got \"x\"");
  EXPECT_EQ(error_in_line("[AVG 1 ]\t1"), expected + "1, got \"[AVG\"");
  EXPECT_EQ(error_in_line("[MINI 1 ]\t1"), expected + "1, got \"[MINI\"");
  EXPECT_EQ(error_in_line("[SMALL 1 ]\t1"), expected + "1, got \"[SMALL\"");
  EXPECT_EQ(error_in_line("[min 1 ]\t1"), expected + "1, got \"[min\"");
  EXPECT_EQ(error_in_line("1 [\t1"), expected + "3, got \"[\"");
}

TEST(ListOpsReader, TokensNeedSomethingBetweenThem) {
  const std::string expected = "expected a digit, [MIN, [MAX, [MED, [SM or ] at column ";
  EXPECT_EQ(error_in_line("[SM 12 ]\t1"), expected + "5, got \"12\"");
  EXPECT_EQ(error_in_line("[MIN4 2 ]\t1"), expected + "1, got \"[MIN4\"");
  EXPECT_EQ(error_in_line("[MIN 4 2]\t1"), expected + "8, got \"2]\"");
  EXPECT_EQ(error_in_line("[MIN 4[MAX 2 ] ]\t1"), expected + "6, got \"4[MAX\"");
}

TEST(ListOpsReader, ALineWithoutTabIsAnError) {
  EXPECT_EQ(error_in_line("[SM 1 2 ] 3"), "expected an expression, a tab and a label, got \"[SM 1 2 ] 3\"");
  EXPECT_EQ(error_in_line(""), "expected an expression, a tab and a label, got \"\"");
}

TEST(ListOpsReader, ALineWithoutTokensIsAnError) {
  EXPECT_EQ(error_in_line("\t3"), "expected an expression before the tab, got \"\"");
  EXPECT_EQ(error_in_line("( )\t3"), "expected an expression before the tab, got \"( )\"");
}

TEST(ListOpsReader, ALabelIsADigit) {
  for (const std::string label : {"10", "-1", "", "a", "3 ", ":", "/"}) {
    EXPECT_EQ(error_in_line("[SM 1 2 ]\t" + label), "expected a label from 0 to 9, got \"" + label + "\"");
  }
  EXPECT_EQ(error_in_line("[SM 1 2 ]\t3\t4"), "expected a label from 0 to 9, got \"3\\t4\"");
}

TEST(ListOpsReader, TheLineOfAnErrorIsCountedFromTheHeader) {
  EXPECT_EQ(error_in(kHeader + "1\t1\r\n2\t2\r\n3\tx\r\n"), "a.tsv:4: expected a label from 0 to 9, got \"x\"");
}

TEST(ListOpsReader, TheHeaderIsRequired) {
  EXPECT_EQ(error_in(""), "a.tsv: expected a line Source<tab>Target, got an empty file");
  EXPECT_EQ(error_in("[SM 1 2 ]\t3\n"), "a.tsv:1: expected a line Source<tab>Target, got \"[SM 1 2 ]\\t3\"");
  EXPECT_EQ(error_in("Source Target\n"), "a.tsv:1: expected a line Source<tab>Target, got \"Source Target\"");
}

TEST(ListOpsReader, AFileWithoutExamplesIsAnError) {
  EXPECT_EQ(error_in(kHeader), "a.tsv:1: expected at least one example after this line, got the end of the file");
}

TEST(ListOpsReader, ABinaryFileIsAnError) {
  EXPECT_TRUE(primal::tests::contains(error_in(kHeader + "1\0\t1\n"s), "a.tsv:2: expected text, got a zero byte"));
}

TEST(ListOpsReader, AnExpressionMayHaveAMillionTokens) {
  std::string source = "1";
  for (int64_t i = 1; i < kMostListOpsTokens; ++i) source += " 1";
  EXPECT_EQ(from_text(kHeader + source + "\t1\n").length(0), kMostListOpsTokens);
  const std::string expected = "expected an expression of up to 1000000 tokens, got a longer one";
  EXPECT_EQ(error_in_line(source + " 1\t1"), expected);
  EXPECT_EQ(error_in_line("1" + std::string(15 * kMostListOpsTokens, ' ') + "\t1"), expected);
}

class ListOpsFile : public primal::tests::FolderTest {};

TEST_F(ListOpsFile, IsReadByItsName) {
  const TokenSet set = read_listops(write("basic_val.tsv", kHeader + "( ( ( [SM 7 ) 6 ) ] )\t3\n"));
  EXPECT_EQ(tokens(set, 0), (std::vector<uint8_t>{13, 7, 6, 14}));
}

TEST_F(ListOpsFile, ErrorsNameTheFile) {
  const std::string path = write("broken.tsv", kHeader + "1\tx\n").string();
  EXPECT_EQ(error_of([&] { read_listops(path); }), path + ":2: expected a label from 0 to 9, got \"x\"");
  const std::string missing = (folder / "missing.tsv").string();
  EXPECT_EQ(error_of([&] { read_listops(missing); }), missing + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { read_listops(folder); }), folder.string() + ": is a directory, expected a ListOps file");
}

}  // namespace
