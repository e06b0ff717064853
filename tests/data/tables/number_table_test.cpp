#include "data/tables/number_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"

namespace {

using namespace std::string_literals;
using primal::data::LineSource;
using primal::data::NumberTable;
using primal::tests::error_of;

NumberTable table_of(const std::string& text) { return primal::data::read_number_table(LineSource("t.csv", text)); }
std::string message_of(const std::string& text) {
  return error_of([&] { table_of(text); });
}

TEST(NumberTable, IsRowsOfNumbers) {
  const NumberTable table = table_of("1,2.5,-3\n4,5e-3,6\n");
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.columns, 3);
  EXPECT_TRUE(table.names.empty());
  EXPECT_EQ(table.values, (std::vector<double>{1, 2.5, -3, 4, 5e-3, 6}));
}

TEST(NumberTable, AFirstLineWithoutNumbersIsAHeader) {
  const NumberTable table = table_of("# made by hand\n\nheight, \"weight, kg\"\n1,2\n");
  EXPECT_EQ(table.names, (std::vector<std::string>{"height", "weight, kg"}));
  EXPECT_EQ(table.values, (std::vector<double>{1, 2}));
}

TEST(NumberTable, LineEndsDelimitersQuotesAndSpacesDoNotMatter) {
  for (const std::string& text : {"x,y\n1,2\n3,4\n"s, "x;y\n1;2\n3;4"s, "x\ty\r\n1\t2\r\n\r\n3\t4\r\n"s,
                                  "\xef\xbb\xbfx,y\n \"1\" , +2\n3,\"4\"\n"s}) {
    EXPECT_EQ(table_of(text).values, (std::vector<double>{1, 2, 3, 4})) << text;
  }
}

TEST(NumberTable, NumbersAreReadToTheLastBit) {
  const NumberTable table = table_of("0.1,123456789.123456789,1e-320,-0,9007199254740993\n");
  EXPECT_EQ(table.values, (std::vector<double>{0.1, 123456789.123456789, 1e-320, -0.0, 9007199254740992.0}));
}

TEST(NumberTable, ErrorsNameLineColumnAndValue) {
  EXPECT_EQ(message_of(""), "t.csv: is empty, expected a table of numbers");
  EXPECT_EQ(message_of("\n# nothing\n"), "t.csv: is empty, expected a table of numbers");
  EXPECT_EQ(message_of("x,y\n"), "t.csv:1: expected at least one row after the header, got the end of the file");
  EXPECT_EQ(message_of("1,2\n3,four\n"), "t.csv:2: column 2: expected a number, got \"four\"");
  EXPECT_EQ(message_of("x,y\n1,2\n3,NaN\n"), "t.csv:3: column 2 (\"y\"): expected a number, got \"NaN\"");
  EXPECT_EQ(message_of("1,2\n3,\n"), "t.csv:2: column 2: expected a number, got nothing");
  EXPECT_EQ(message_of("1,inf\n"), "t.csv:1: column 2: expected a finite number, got \"inf\"");
  EXPECT_EQ(message_of("1,1e999\n"), "t.csv:1: column 2: expected a number up to 1.8e308, got \"1e999\"");
  EXPECT_EQ(message_of("1,2,x\n"), "t.csv:1: column 3: expected a number, got \"x\"");
  EXPECT_EQ(message_of(",x\n0,1\n"), "t.csv:1: column 1: expected a name, got nothing");
}

TEST(NumberTable, RaggedRowsAreErrors) {
  EXPECT_EQ(message_of("1,2\n\n3\n"), "t.csv:3: expected 2 cells as in line 1, got 1");
  EXPECT_EQ(message_of("1,2\n3,4,5\n"), "t.csv:2: expected 2 cells as in line 1, got 3");
  EXPECT_EQ(message_of("1,2\n3,x,5\n"), "t.csv:2: expected 2 cells as in line 1, got 3")
      << "the wrong cell is a consequence";
  EXPECT_EQ(message_of("1,2\n\"3,4\n"), "t.csv:2: expected a closing quote on the same line, got \"\\\"3,4\"");
}

}  // namespace
