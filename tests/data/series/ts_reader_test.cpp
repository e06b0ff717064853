#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"
#include "support/series.h"

namespace {

using namespace std::string_literals;  // "..."s may hold zero bytes
using primal::data::TimeSeriesSet;
using primal::tests::error_of;
using primal::tests::from_ts;

constexpr primal::data::ReadOptions kForPrediction{.labels_optional = true};

const std::string kTwoChannels =
    "# a comment\n"
    "@problemName Two\n"
    "@timeStamps false\n"
    "@missing false\n"
    "@univariate false\n"
    "@dimensions 2\n"
    "@equalLength false\n"
    "@classLabel true up down\n"
    "@data\n"
    "1,2,3:4,5,6:up\n"
    "-1.5,?:NaN,7e-1:down\n";

TEST(TsReader, TurnsChannelsIntoSteps) {
  const TimeSeriesSet set = from_ts(kTwoChannels);
  EXPECT_EQ(set.name, "Two");
  EXPECT_EQ(set.channels, 2);
  EXPECT_EQ(set.ids, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(set.offsets, (std::vector<int64_t>{0, 3, 5}));
  EXPECT_EQ(std::vector<float>(set.values.begin(), set.values.begin() + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(set.values[6], -1.5F);
  EXPECT_TRUE(std::isnan(set.values[7]));
  EXPECT_TRUE(std::isnan(set.values[8]));
  EXPECT_EQ(set.values[9], 0.7F);
  EXPECT_EQ(set.missing(), 2);
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"up", "down"}));
  EXPECT_EQ(set.labels, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(set.times.empty());
  EXPECT_TRUE(set.targets.empty());
}

TEST(TsReader, LineEndsSpacesCaseAndByteOrderMarkDoNotMatter) {
  const TimeSeriesSet expected = from_ts(kTwoChannels);
  std::string windows = "\xef\xbb\xbf";
  for (const char c : kTwoChannels) windows += c == '\n' ? "\r\n"s : std::string(1, c);
  primal::tests::expect_same(from_ts(windows), expected);
  primal::tests::expect_same(from_ts(kTwoChannels.substr(0, kTwoChannels.size() - 1)), expected);
  primal::tests::expect_same(
      from_ts(
          "\n@DIMENSION\t2 \n@ClassLabel  TRUE  up\tdown\n% comment\n@Data \n\n 1 , 2,+3 : 4,5 ,6 : up \n# comment\n"
          "-1.5,?:NaN,7e-1:down\n\n"),
      expected);
}

TEST(TsReader, UnknownDirectivesArePassedOver) { EXPECT_EQ(from_ts("@colour blue\n@author\n@data\n1,2\n").cases(), 1); }

TEST(TsReader, AFileWithoutLabelsOrDimensionsIsRead) {
  const TimeSeriesSet set = from_ts("@classLabel false\n@data\n1,2:3,4:5,6\n7:8:9\n");
  EXPECT_EQ(set.name, "a");
  EXPECT_EQ(set.channels, 3);
  EXPECT_EQ(set.offsets, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_TRUE(set.labels.empty());
}

TEST(TsReader, TargetsAreRegressionValues) {
  const TimeSeriesSet set = from_ts("@univariate true\n@targetLabel true\n@data\n1,2:0.5\n3:-2e3\n");
  EXPECT_EQ(set.targets, (std::vector<double>{0.5, -2000.0}));
  EXPECT_TRUE(set.labels.empty());
}

TEST(TsReader, SeriesLengthIsNotCheckedWhenLengthsAreSaidToDiffer) {
  EXPECT_EQ(from_ts("@equalLength false\n@seriesLength 9\n@data\n1,2\n1\n").longest(), 2);
}

TEST(TsReader, ForPredictionLabelsMayBeAbsent) {
  const std::string head = "@dimensions 2\n@classLabel true a b\n@data\n";
  EXPECT_TRUE(from_ts(head + "1,2:3,4\n1:2\n", kForPrediction).labels.empty());
  EXPECT_TRUE(from_ts(head + "1,2:3,4:?\n1:2:\n", kForPrediction).labels.empty());
  EXPECT_EQ(from_ts(head + "1,2:3,4:b\n", kForPrediction).labels, (std::vector<int64_t>{1}));
  EXPECT_EQ(error_of([&] { from_ts(head + "1,2:3,4:b\n1:2\n", kForPrediction); }),
            "a.ts:5: series \"1\": expected a label as for the first series, got none");
  const std::string undeclared = "@classLabel true 1 2\n@data\n";
  EXPECT_EQ(from_ts(undeclared + "1,2:3,4\n1:2\n", kForPrediction).channels, 2);
  EXPECT_EQ(from_ts(undeclared + "1,2:3,4:2\n1:2:1\n", kForPrediction).labels, (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(from_ts("@univariate true\n@targetLabel true\n@data\n1,2\n3\n", kForPrediction).targets.empty());
}

TEST(TsReader, LinesOfManyMegabytesAreRead) {
  std::string text = "@data\n";
  constexpr int64_t kSteps = 2'000'000;
  for (int64_t i = 0; i < kSteps; ++i) text += i == 0 ? "1.25" : ",1.25";
  const TimeSeriesSet set = from_ts(text);
  EXPECT_EQ(set.length(0), kSteps);
  EXPECT_EQ(set.values.back(), 1.25F);
}

struct Broken {
  std::string text, expected;
  friend void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.expected; }
};

/// A file with two univariate classes and these lines after @data.
Broken lines(const std::string& text, const std::string& expected) {
  return {"@univariate true\n@classLabel true up down\n@data\n" + text, expected};
}

/// A file without labels.
Broken values(const std::string& text, const std::string& expected) { return {"@data\n" + text, expected}; }

const std::string kNeedsClassLabel =
    "; if that is the class of the series, the head needs a line @classLabel true and the names of the classes";

std::vector<Broken> broken_files() {
  return {
      {"", "a.ts: is empty, expected a .ts file"},
      {"\n", "a.ts:1: expected @data, got the end of the file"},
      {"# x\n@univariate true\n", "a.ts:2: expected @data, got the end of the file"},
      {"@data", "a.ts:1: expected at least one case after @data, got the end of the file"},
      {"@data\n\n# x\n", "a.ts:3: expected at least one case after @data, got the end of the file"},
      {"@missing false\nhello\n", "a.ts:2: expected a directive such as @data, got \"hello\""},
      {"1,2:a\n", "a.ts:1: expected a directive such as @data, got \"1,2:a\""},
      {"@univariate yes\n", "a.ts:1: @univariate: expected true or false, got \"yes\""},
      {"@equalLength\n", "a.ts:1: @equalLength: expected true or false, got nothing"},
      {"@dimensions 0\n", "a.ts:1: @dimensions: expected a whole number above 0, got \"0\""},
      {"@dimensions 2.5\n", "a.ts:1: @dimensions: expected a whole number above 0, got \"2.5\""},
      {"@seriesLength 99999999999999999999\n",
       "a.ts:1: @seriesLength: expected a whole number above 0, got \"99999999999999999999\""},
      {"@timeStamps true\n",
       "a.ts:1: @timeStamps: expected series without time stamps; write series with times as CSV with a time column, "
       "got \"true\""},
      {"@classLabel true\n", "a.ts:1: @classLabel: expected the names of the classes after true, got \"true\""},
      {"@classLabel maybe a\n", "a.ts:1: @classLabel: expected true or false, got \"maybe a\""},
      {"@classLabel true a b a\n", "a.ts:1: @classLabel: class \"a\" is given twice"},
      {"@classLabel true a\n@targetLabel true\n@data\n",
       "a.ts:3: expected @classLabel or @targetLabel to be true, got both"},
      {"@univariate true\n@dimensions 3\n@data\n", "a.ts:3: expected @dimensions 1 with @univariate true, got 3"},
      {"@problemName a\0b\n"s, "a.ts:1: expected text, got a zero byte at column 15 (is the file binary or UTF-16?)"},
      lines("1,2:upp\n", "a.ts:4: expected a class of @classLabel such as \"up\", got \"upp\""),
      lines("1,2:sideways\n", "a.ts:4: expected a class of @classLabel such as \"up\", got \"sideways\""),
      lines("1,2:dwn\n", "a.ts:4: expected a class of @classLabel such as \"down\", got \"dwn\""),
      lines("1,2:\n", "a.ts:4: expected a class of @classLabel such as \"up\", got \"\""),
      lines("1,2\n", "a.ts:4: expected values, ':' and a class label, got \"1,2\""),
      lines("1,2:3,4:up\n", "a.ts:4: expected 1 channel, got 2"),
      lines("1:up\n\n1,a:up\n", "a.ts:6: channel 1, value 2: expected a number, got \"a\""),
      lines("1,\0:up\n"s, "a.ts:4: expected text, got a zero byte at column 3 (is the file binary or UTF-16?)"),
      lines(":up\n", "a.ts:4: channel 1, value 1: expected a number, got nothing"),
      lines("1:up\n@data\n", "a.ts:5: expected a case, got the directive \"@data\""),
      {"@targetLabel true\n@data\n1:x\n", "a.ts:3: target: expected a number, got \"x\""},
      {"@targetLabel true\n@data\n1:?\n", "a.ts:3: target: expected a number, got \"?\""},
      {"@targetLabel true\n@data\n1\n", "a.ts:3: expected values, ':' and a target, got \"1\""},
      values("(0,1),(1,2)\n",
             "a.ts:2: expected series without time stamps; write series with times as CSV with a time column, got "
             "\"(0\""),
      values("1,2:3\n", "a.ts:2: channel 2: expected 2 values as in channel 1, got 1" + kNeedsClassLabel),
      values("1,2:3,4:up\n", "a.ts:2: channel 3, value 1: expected a number, got \"up\"" + kNeedsClassLabel),
      {"@dimensions 1\n@data\n1:2\n",
       "a.ts:3: expected 1 channel as @dimensions in line 1 says, got 2" + kNeedsClassLabel},
      values("1,2:3,4:5,6,7\n", "a.ts:2: channel 3: expected 2 values as in channel 1, got 3"),
      values("1,2:\n", "a.ts:2: channel 2, value 1: expected a number, got nothing"),
      values("1,,2\n", "a.ts:2: channel 1, value 2: expected a number, got nothing"),
      values("1,2,\n", "a.ts:2: channel 1, value 3: expected a number, got nothing"),
      values("1,2:3,inf\n", "a.ts:2: channel 2, value 2: expected a finite number, got \"inf\""),
      values("-Infinity\n", "a.ts:2: channel 1, value 1: expected a finite number, got \"-Infinity\""),
      values("1,1e39\n", "a.ts:2: channel 1, value 2: expected a number up to 3.4e38, got \"1e39\""),
      values("1,2:3,4\n1:2:3\n", "a.ts:3: expected 2 channels, got 3" + kNeedsClassLabel),
      values("1\x1b[31m\n", "a.ts:2: channel 1, value 1: expected a number, got \"1\\u001b[31m\""),
      values("\xff\n", "a.ts:2: channel 1, value 1: expected a number, got \"\xef\xbf\xbd\""),
      values(std::string(1000, 'x') + "\n",
             "a.ts:2: channel 1, value 1: expected a number, got \"" + std::string(80, 'x') + "...\""),
      {"@dimensions 3\n@data\n1:2\n", "a.ts:3: expected 3 channels as @dimensions in line 1 says, got 2"},
      {"@equalLength true\n@data\n1,2\n1\n", "a.ts:4: expected a series of length 2, got 1"},
      {"@seriesLength 3\n@data\n1,2,3\n1,2\n", "a.ts:4: expected a series of length 3, got 2"},
  };
}

class BrokenTs : public testing::TestWithParam<Broken> {};

TEST_P(BrokenTs, IsRefusedWithLineAndValue) {
  EXPECT_EQ(error_of([] { from_ts(GetParam().text); }), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenTs, testing::ValuesIn(broken_files()));

TEST(TsReader, WrongDimensionsAreSaidAlsoWhereLabelsAreOptional) {
  const std::string text = "@dimensions 3\n@classLabel true up down\n@data\n1,2:3,4:up\n";
  EXPECT_EQ(error_of([&] { from_ts(text, {.labels_optional = true}); }),
            "a.ts:4: expected 3 channels as @dimensions in line 1 says, got 2 and class \"up\"");
}

}  // namespace
