#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/series.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::TimeSeriesSet;
using primal::tests::error_of;
using primal::tests::from_csv;

constexpr primal::data::ReadOptions kForPrediction{.labels_optional = true};

const std::string kWalks =
    "series,time,x,y,label\n"
    "a,0,1,2,up\n"
    "a,0.5,3,,up\n"
    "b,-7,?,NaN,down\n"
    "b,8,5,6,\n";

TEST(CsvReader, OneRowIsOneStep) {
  const TimeSeriesSet set = from_csv(kWalks);
  EXPECT_EQ(set.name, "a");
  EXPECT_EQ(set.channels, 2);
  EXPECT_EQ(set.ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(set.offsets, (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(set.times, (std::vector<double>{0, 0.5, -7, 8}));
  EXPECT_EQ(set.missing(), 3);
  EXPECT_EQ(set.values[2], 3.0F);
  EXPECT_TRUE(std::isnan(set.values[3]));
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"down", "up"}));
  EXPECT_EQ(set.labels, (std::vector<int64_t>{1, 0}));
}

TEST(CsvReader, LineEndsDelimitersQuotesSpacesAndCaseDoNotMatter) {
  const TimeSeriesSet expected = from_csv(kWalks);
  std::string windows = "\xef\xbb\xbf", semicolons, tabs;
  for (const char c : kWalks) {
    windows += c == '\n' ? "\r\n"s : std::string(1, c);
    semicolons += c == ',' ? ';' : c;
    tabs += c == ',' ? '\t' : c;
  }
  for (const std::string& text : {windows, semicolons, tabs, kWalks.substr(0, kWalks.size() - 1),
                                  "# made by hand\n\n \"SERIES\" ,Time, \"x\",y,Label\n\"a\",0,\"1\",2,\"up\"\n"
                                  " a , 0.5 , +3 , ,up\n\nb,-7,?,NaN,down\nb,8,5,6,\n\n"s}) {
    primal::tests::expect_same(from_csv(text), expected);
  }
}

TEST(CsvReader, ColumnsAreFoundByNameWhereverTheyStand) {
  const TimeSeriesSet set = from_csv("x,label,y,series\n1,up,2,a\n3,up,4,a\n5,down,6,b\n");
  EXPECT_EQ(set.ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(set.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(set.times.empty());
}

TEST(CsvReader, QuotedIdsAndLabelsKeepDelimitersAndQuotes) {
  const TimeSeriesSet set = from_csv("series,x,label\n\"a,\"\"b\"\"\",1,\"one, two\"\n\" a\",1,\"\"\"\"\n");
  EXPECT_EQ(set.ids, (std::vector<std::string>{"a,\"b\"", " a"}));
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"\"", "one, two"}));
}

TEST(CsvReader, ClassesAreOrderedByNumberIfAllAreNumbersElseByText) {
  EXPECT_EQ(from_csv("series,x,label\na,1,10\nb,1,9\nc,1,-1.5\n").class_names,
            (std::vector<std::string>{"-1.5", "9", "10"}));
  EXPECT_EQ(from_csv("series,x,label\na,1,10\nb,1,9\nc,1,z\n").class_names, (std::vector<std::string>{"10", "9", "z"}));
}

TEST(CsvReader, TargetsAreRegressionValues) {
  const TimeSeriesSet set = from_csv("series,x,target\na,1,0.5\na,2,0.50\nb,3,\nb,4,-1\n");
  EXPECT_EQ(set.targets, (std::vector<double>{0.5, -1.0}));
}

TEST(CsvReader, ForPredictionLabelsMayBeAbsent) {
  for (const char* label : {"", "?"}) {
    EXPECT_TRUE(from_csv("series,x,label\na,1,"s + label + "\n", kForPrediction).labels.empty());
    EXPECT_TRUE(from_csv("series,x,target\na,1,"s + label + "\n", kForPrediction).targets.empty());
  }
  EXPECT_EQ(error_of([] { from_csv("series,x,target\na,1,\nb,2,3\n", kForPrediction); }),
            "a.csv:3: series \"b\": expected no target as for the first series, got one");
}

struct Broken {
  std::string text, expected;
  friend void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.expected; }
};

/// Rows under a header with everything.
Broken rows(const std::string& text, const std::string& expected) {
  return {"series,time,x,label\n" + text, "a.csv:" + expected};
}

std::vector<Broken> broken_files() {
  return {
      {"", "a.csv: is empty, expected a .ts or CSV file"},
      {"\n# x\n", "a.csv:2: expected a header such as series,time,x,y,label, got the end of the file"},
      {"id,x\n", "a.csv:1: expected a header with a column series, such as series,time,x,y,label, got \"id,x\""},
      {"series,time,label\n", "a.csv:1: expected a column of values, got \"series,time,label\""},
      {"series,x,label,target\n", "a.csv:1: expected a column label or a column target, got both"},
      {"series,x,,y\n", "a.csv:1: column 3: expected a name, got nothing"},
      {"series,x,y,x\n", "a.csv:1: column 4: the name \"x\" is there already"},
      {"series,x,Series\n", "a.csv:1: column 3: the name \"Series\" is there already"},
      {"series,\"x\n", "a.csv:1: expected a closing quote on the same line, got \"\\\"x\""},
      {"series,x\0\n"s, "a.csv:1: expected text, got a zero byte at column 9 (is the file binary or UTF-16?)"},
      rows("", "1: expected at least one row after the header, got the end of the file"),
      rows("a,0,1,u\nb,0,1,u\na,1,1,u\n",
           "4: series \"a\": expected its rows to stand together, got one apart from those of line 2"),
      rows("a,0,1,u\n\na,1,1,u\n",
           "4: series \"a\": expected its rows to stand together, got one apart from those of line 2"),
      rows("a,0,1,u\na,1,2,v\n", "3: series \"a\": expected label \"u\" as in line 2, got \"v\""),
      rows("a,0,1,\na,1,2,\nb,0,1,u\n", "2: series \"a\": expected a label in one of its rows, got none"),
      rows("a,0,1,u\na,0,2,u\n", "3: time: expected more than 0 of the row before, got \"0\""),
      rows("a,0.1,1,u\na,-2e3,2,u\n",
           "3: time: expected more than 0.10000000000000001 of the row before, got \"-2e3\""),
      rows("a,2024-01-01,1,u\n", "2: time: expected a number, got \"2024-01-01\""),
      rows("a,,1,u\n", "2: time: expected a number, got nothing"),
      rows("a,?,1,u\n", "2: time: expected a number, got \"?\""),
      rows("a,inf,1,u\n", "2: time: expected a finite number, got \"inf\""),
      rows("a,1.7e308,1,u\n", "2: time: expected a number up to 1e+300, got \"1.7e308\""),
      rows("a,0,x,u\n", "2: column 3: expected a number, got \"x\""),
      rows("a,0,inf,u\n", "2: column 3: expected a finite number, got \"inf\""),
      rows("a,0,-1e39,u\n", "2: column 3: expected a number up to 3.4e38, got \"-1e39\""),
      rows("a,0,1\n", "2: expected 4 cells as in the header, got 3"),
      rows("a,0,1,u,\n", "2: expected 4 cells as in the header, got 5"),
      rows("a\n", "2: expected 4 cells as in the header, got 1"),
      rows("a,0,u\n", "2: expected 4 cells as in the header, got 3"),
      rows("a,0,1,u\na,1,2,3,u\n", "3: expected 4 cells as in the header, got 5"),
      rows(",0,1,u\n", "2: expected the id of a series, got nothing"),
      rows("\"a,0,1,u\n", "2: expected a closing quote on the same line, got \"\\\"a,0,1,u\""),
      rows("\"a\"b,0,1,u\n", "2: expected the end of the cell after the closing quote, got \"\\\"a\\\"b\""),
      rows("a,0,1,u\n\xff\x01,0,1,u\n", "3: expected the id of a series in UTF-8, got \"\uFFFD\\u0001\""),
      {"series,x,target\na,1,2\na,1,3\n", "a.csv:3: series \"a\": expected target 2 as in line 2, got \"3\""},
      {"series,x,target\na,1,y\n", "a.csv:2: target: expected a number, got \"y\""},
      {"series,x,target\na,1,?\n", "a.csv:2: target: expected a number, got \"?\""},
      {"series,x,target\na,1,\n", "a.csv:2: series \"a\": expected a target in one of its rows, got none"},
      {"series;x\na;1,5\n", "a.csv:2: column 2: expected a number, got \"1,5\""},
  };
}

class BrokenCsv : public testing::TestWithParam<Broken> {};

TEST_P(BrokenCsv, IsRefusedWithLineAndValue) {
  EXPECT_EQ(error_of([] { from_csv(GetParam().text); }), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenCsv, testing::ValuesIn(broken_files()));

}  // namespace
