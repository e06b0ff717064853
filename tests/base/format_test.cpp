#include "base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace primal::base {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FormatCount, HasTwoOrThreeDigitsAndAUnit) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(2.84), "2.8");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1.0k");
  EXPECT_EQ(format_count(2810), "2.8k");
  EXPECT_EQ(format_count(28'100), "28.1k");
  EXPECT_EQ(format_count(281'000), "281k");
  EXPECT_EQ(format_count(3.4e6), "3.4M");
  EXPECT_EQ(format_count(-2810), "-2.8k");
}

TEST(FormatCount, RoundsIntoTheNextUnit) {
  EXPECT_EQ(format_count(99.97), "100");
  EXPECT_EQ(format_count(999.7), "1.0k");
  EXPECT_EQ(format_count(99'970), "100k");
  EXPECT_EQ(format_count(999'700), "1.0M");
}

TEST(FormatCount, HasAnAnswerForEveryNumber) {
  EXPECT_EQ(format_count(2e21), "2000E");
  EXPECT_EQ(format_count(kNan), "nan");
  EXPECT_EQ(format_count(kInfinity), "inf");
}

TEST(FormatDuration, IsMinutesAndSecondsOrHoursToo) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(151), "2:31");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(3599), "59:59");
  EXPECT_EQ(format_duration(3661), "1:01:01");
  EXPECT_EQ(format_duration(100 * 3600.0), "100:00:00");
}

TEST(FormatDuration, SaysWhenItIsNotKnown) {
  EXPECT_EQ(format_duration(kNan), "-:--");
  EXPECT_EQ(format_duration(kInfinity), "-:--");
  EXPECT_EQ(format_duration(-1), "-:--");
}

TEST(FormatPercent, IsOfAShare) {
  EXPECT_EQ(format_percent(0.963), "96.3 %");
  EXPECT_EQ(format_percent(1), "100.0 %");
  EXPECT_EQ(format_percent(0.58, 0), "58 %");
}

TEST(FormatMetric, KeepsAboutThreeDigits) {
  EXPECT_EQ(format_metric(0.2312), "0.231");
  EXPECT_EQ(format_metric(0), "0.000");
  EXPECT_EQ(format_metric(-0.0123), "-0.012");
  EXPECT_EQ(format_metric(12.3456), "12.346");
  EXPECT_EQ(format_metric(1234.56), "1234.6");
  EXPECT_EQ(format_metric(1234567), "1.23e+06");
  EXPECT_EQ(format_metric(0.00012), "1.2e-04");
  EXPECT_EQ(format_metric(kNan), "nan");
  EXPECT_EQ(format_metric(-kInfinity), "-inf");
}

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("loss"), 4);
  EXPECT_EQ(display_width("━╺─╾"), 4);
  EXPECT_EQ(display_width("Zürich"), 6);
  EXPECT_EQ(display_width("Zu\u0308rich"), 6);  // u and a combining diaeresis
  EXPECT_EQ(display_width("日本語"), 6);
  EXPECT_EQ(display_width("🙂"), 2);
}

TEST(DisplayWidth, CountsBytesThatAreNoUtf8) {
  EXPECT_EQ(display_width("\xFF\x80z"), 3);
  EXPECT_EQ(display_width("\xE6\x97"), 2);   // cut off
  EXPECT_EQ(display_width("\xC3(\xE6"), 3);  // no continuation
}

TEST(CutToWidth, KeepsWholeCharacters) {
  EXPECT_EQ(cut_to_width("loss", 9), "loss");
  EXPECT_EQ(cut_to_width("loss", 2), "lo");
  EXPECT_EQ(cut_to_width("日本語", 5), "日本");
  EXPECT_EQ(cut_to_width("Zürich", 2), "Zü");
  EXPECT_EQ(cut_to_width("loss", 0), "");
  EXPECT_EQ(cut_to_width("loss", -1), "");
}

TEST(Printable, ATerminalShowsAndDoesNotObey) {
  EXPECT_EQ(printable("a\x1b[31mb\tc\r\n"), "a\\x1b[31mb\\x09c\\x0d\\x0a");
  EXPECT_EQ(printable("one\ntwo\x07", /*lines=*/true), "one\ntwo\\x07");
  EXPECT_EQ(printable("\x7f\xc2\x9b\xff"), "\\x7f\\x9b\\xff");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");
  EXPECT_EQ(printable("\xc3\xa4\xe6\xbc\xa2"), "\xc3\xa4\xe6\xbc\xa2");
  EXPECT_EQ(padded("\x1b", 6), "\\x1b  ");
}

}  // namespace
}  // namespace primal::base
