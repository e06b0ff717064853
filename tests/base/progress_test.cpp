#include "base/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/format.h"

namespace primal::base {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ProgressState example() {
  return {.epoch = 12,
          .epochs = 100,
          .step = 58,
          .steps = 100,
          .done_steps = 1158,
          .total_steps = 10000,
          .loss = 0.231,
          .score_name = "acc",
          .score = "96.3 %",
          .objective = 0.012,
          .tokens_per_second = 2810,
          .remaining_seconds = 151};
}

/// Columns of a line with colours in it.
int visible_width(std::string line) {
  for (std::size_t start = line.find('\x1b'); start != std::string::npos; start = line.find('\x1b')) {
    line.erase(start, line.find('m', start) + 1 - start);
  }
  return display_width(line);
}

std::string unicode_line(const ProgressState& state, int width) { return render(state, width, true, false); }
std::string ascii_line(const ProgressState& state, int width) { return render(state, width, false, false); }

TEST(ProgressLine, ShowsEverythingOnAWideTerminal) {
  EXPECT_EQ(unicode_line(example(), 119),
            "epoch  12/100 ━━━━━━━━━━━━━━━━━━━━━━━───────────────── "
            " 58 %  loss 0.231  acc 96.3 %  J 0.012  2.8k tok/s  ETA 2:31");
}

TEST(ProgressLine, KeepsTheRemainingTimeOnAUsualTerminal) {
  EXPECT_EQ(unicode_line(example(), 79),
            "epoch  12/100 ━━━━━━━━━───────  58 %  loss 0.231  acc 96.3 %  J 0.012  ETA 2:31");
}

TEST(ProgressLine, LeavesOutTheLeastImportantFirst) {
  const std::string head = "epoch  12/100 ";
  EXPECT_EQ(ascii_line(example(), 81), head + "===...  58 %  loss 0.231  acc 96.3 %  J 0.012  2.8k tok/s  ETA 2:31");
  EXPECT_EQ(ascii_line(example(), 69), head + "===...  58 %  loss 0.231  acc 96.3 %  J 0.012  ETA 2:31");
  EXPECT_EQ(ascii_line(example(), 60), head + "===...  58 %  loss 0.231  acc 96.3 %  ETA 2:31");
  EXPECT_EQ(ascii_line(example(), 50), head + "===...  58 %  loss 0.231  acc 96.3 %");
  EXPECT_EQ(ascii_line(example(), 38), head + "===...  58 %  loss 0.231");
  EXPECT_EQ(ascii_line(example(), 26), head + "===...  58 %");
  EXPECT_EQ(ascii_line(example(), 25), head + " 58 %");
  EXPECT_EQ(ascii_line(example(), 18), "epoch  12/100");
  EXPECT_EQ(ascii_line(example(), 7), "epoch  ");
  EXPECT_EQ(ascii_line(example(), 0), "");
}

TEST(ProgressLine, NeverTakesMoreThanTheWidth) {
  ProgressState state = example();
  for (const std::string_view label : {"", "uea/JapaneseVowels", "日本語の母音", "Zürich"}) {
    state.label = label;
    for (int width = -2; width < 140; ++width) {
      for (const bool unicode : {false, true}) {
        for (const bool colour : {false, true}) {
          EXPECT_LE(visible_width(render(state, width, unicode, colour)), std::max(width, 0)) << width << label;
        }
      }
    }
  }
}

TEST(ProgressLine, BarMovesByHalfColumns) {
  const auto bar = [](int step) {
    return unicode_line({.step = step, .steps = 16}, 14).substr(0, 24);  // eight glyphs of three bytes
  };
  EXPECT_EQ(bar(0), "────────");
  EXPECT_EQ(bar(1), "╾───────");
  EXPECT_EQ(bar(2), "━───────");
  EXPECT_EQ(bar(15), "━━━━━━━╾");
  EXPECT_EQ(bar(16), "━━━━━━━━");
}

TEST(ProgressLine, IsColouredWithRestraint) {
  const ProgressState half = {.step = 8, .steps = 16, .loss = 0.5};
  EXPECT_EQ(render(half, 26, true, true), "\x1b[36m━━━━\x1b[0m\x1b[90m╺━━━\x1b[0m  50 %  \x1b[90mloss\x1b[0m 0.500");
  const ProgressState full = {.step = 16, .steps = 16, .loss = kNan};
  EXPECT_EQ(render(full, 24, true, true), "\x1b[32m━━━━━━━━\x1b[0m 100 %  \x1b[90mloss\x1b[0m \x1b[31mnan\x1b[0m");
}

TEST(ProgressLine, NamesTheScore) {
  EXPECT_EQ(ascii_line({.epoch = 1, .epochs = 3, .score_name = "R2", .score = "0.873"}, 80), "epoch 1/3  R2 0.873");
}

TEST(ProgressLine, SaysHundredPercentOnlyAtTheEnd) {
  EXPECT_EQ(ascii_line({.step = 9999, .steps = 10000}, 6), " 99 %");
  EXPECT_EQ(ascii_line({.step = 10000, .steps = 10000}, 6), "100 %");
  EXPECT_EQ(ascii_line({.step = 10001, .steps = 10000}, 6), "100 %");
}

TEST(ProgressLine, ShowsOnlyWhatIsKnown) {
  EXPECT_EQ(ascii_line({.label = "reading"}, 80), "reading");
  EXPECT_EQ(ascii_line({}, 80), "");
  EXPECT_EQ(ascii_line({.epoch = 1, .epochs = 3, .objective = kNan, .tokens_per_second = kNan}, 80), "epoch 1/3");
  EXPECT_EQ(ascii_line({.step = 1, .steps = 4, .label = "test"}, 19), "test ==......  25 %");
}

TEST(ProgressLine, GivesTheLabelUpBeforeTheEpoch) {
  const ProgressState state = {.epoch = 3, .epochs = 9, .label = "日本語"};
  EXPECT_EQ(ascii_line(state, 17), "日本語  epoch 3/9");
  EXPECT_EQ(ascii_line(state, 16), "epoch 3/9");
  EXPECT_EQ(ascii_line({.label = "日本語"}, 5), "日本");
}

TEST(ProgressLine, TellsTheTimeItTook) {
  const ProgressState done = {.done_steps = 10, .total_steps = 10, .remaining_seconds = 0, .elapsed_seconds = 61};
  EXPECT_EQ(render_plain(done), "took 1:01");
}

TEST(ProgressLine, IsPlainInALog) {
  EXPECT_EQ(render_plain(example()), "epoch  12/100  58 %  loss 0.231  acc 96.3 %  J 0.012  2.8k tok/s  ETA 2:31");
  EXPECT_EQ(render_plain({.loss = 0.5}), "loss 0.500");
}

TEST(RemainingTime, IsNotKnownBeforeTheFirstStep) {
  RemainingTime time;
  EXPECT_TRUE(std::isnan(time.seconds(10)));
  time.observe(0, 500);
  EXPECT_TRUE(std::isnan(time.seconds(10)));
}

TEST(RemainingTime, DoesNotCountStepsBeforeAResume) {
  RemainingTime time;
  time.observe(100, 5000);
  time.observe(102, 5001);
  EXPECT_DOUBLE_EQ(time.seconds(10), 20);
  time.observe(103, 5001);  // a step under way
  time.observe(104, 5002);
  EXPECT_DOUBLE_EQ(time.seconds(10), 20);
  EXPECT_EQ(time.seconds(-1), 0);
}

TEST(RemainingTime, FollowsTheRecentSpeed) {
  RemainingTime time;
  double now = 0;
  std::int64_t step = 0;
  time.observe(now, step);
  while (step < 100) time.observe(now += 1, ++step);
  while (step < 200) time.observe(now += 3, ++step);
  EXPECT_NEAR(time.seconds(1), 3, 0.01);
}

TEST(RemainingTime, StartsAnewWithOtherWork) {
  RemainingTime time;
  time.observe(0, 0);
  time.observe(100, 1);
  time.observe(200, 0);
  time.observe(201, 1);
  EXPECT_DOUBLE_EQ(time.seconds(1), 1);
}

/// A stream in memory, a clock and a window that the test turns.
class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override {
    std::fclose(stream_);
    std::free(text_);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  }

  ProgressOptions options(bool terminal) {
    return {
        .stream = stream_, .terminal = terminal, .width = [this] { return width_; }, .clock = [this] { return now_; }};
  }

  /// What was written since the last call.
  std::string written() {
    const std::string all(text_ == nullptr ? "" : text_, size_);
    return all.substr(std::exchange(seen_, all.size()));
  }

  double now_ = 1000;
  int width_ = 16;

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::size_t seen_ = 0;
  std::FILE* stream_ = ::open_memstream(&text_, &size_);
};

ProgressState quarter(int done) { return {.step = done, .steps = 4, .done_steps = done, .total_steps = 4}; }

TEST_F(ProgressTest, RedrawsOneLineTenTimesASecond) {
  Progress progress(options(true));
  progress.update(quarter(0));
  EXPECT_EQ(written(), "\r........   0 %\x1b[K");
  now_ += 0.05;
  progress.update(quarter(1));
  EXPECT_EQ(written(), "");
  now_ += 0.06;
  progress.update(quarter(1));
  EXPECT_EQ(written(), "\r==......  25 %\x1b[K");
}

TEST_F(ProgressTest, FollowsTheWindow) {
  Progress progress(options(true));
  width_ = 7;
  progress.update(quarter(0));
  EXPECT_EQ(written(), "\r  0 %\x1b[K");
  width_ = 16;
  now_ += 1;
  progress.update(quarter(0));
  EXPECT_EQ(written(), "\r........   0 %\x1b[K");
}

TEST_F(ProgressTest, PrintsLinesAboveTheBar) {
  Progress progress(options(true));
  progress.line("begin");
  EXPECT_EQ(written(), "begin\n");
  width_ = 7;
  progress.update(quarter(1));
  written();
  progress.line("best so far");
  EXPECT_EQ(written(), "\r\x1b[Kbest so far\n\r 25 %\x1b[K");
}

TEST_F(ProgressTest, FinishShowsTheLastStateAndEndsTheLine) {
  width_ = 7;
  Progress progress(options(true));
  progress.update(quarter(0));
  progress.update(quarter(4));
  written();
  progress.finish();
  EXPECT_EQ(written(), "\r100 %\x1b[K\n");
  progress.finish();
  EXPECT_EQ(written(), "");
  progress.line("the end");
  EXPECT_EQ(written(), "the end\n");
}

TEST_F(ProgressTest, LeavesAnErrorALineOfItsOwn) {
  {
    Progress progress(options(true));
    progress.update(quarter(0));
    written();
  }
  EXPECT_EQ(written(), "\n");
}

TEST_F(ProgressTest, LogHasALineAtOnceAndThenOneEveryFewSeconds) {
  Progress progress(options(false));
  now_ += 1;
  progress.update(quarter(0));
  EXPECT_EQ(written(), "0 %\n");
  now_ += 4.9;
  progress.update(quarter(1));
  EXPECT_EQ(written(), "");
  now_ += 0.2;
  progress.update(quarter(1));
  EXPECT_EQ(written(), "25 %  ETA 0:15\n");
  progress.line("best so far");
  EXPECT_EQ(written(), "best so far\n");
  now_ += 1;
  progress.update(quarter(4));
  progress.finish();
  EXPECT_EQ(written(), "100 %  took 0:07\n");
}

TEST_F(ProgressTest, HasALabelWhereTheStateHasNone) {
  ProgressOptions labelled = options(false);
  labelled.label = "sweep 1";
  Progress progress(labelled);
  progress.update({});
  EXPECT_EQ(written(), "sweep 1\n");
  now_ += 10;
  progress.update({.label = "test"});
  EXPECT_EQ(written(), "test\n");
}

/// Sets variables and brings those of before back.
class ProgressEnvironment : public testing::Test {
 protected:
  ProgressEnvironment() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
  }
  ~ProgressEnvironment() override {
    for (const auto& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST_F(ProgressEnvironment, DecidesAboutUnicode) {
  EXPECT_FALSE(progress_options().unicode);
  ::setenv("LANG", "de_CH.UTF-8", 1);
  EXPECT_TRUE(progress_options().unicode);
  ::setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(progress_options().unicode);
  ::setenv("LC_ALL", "C.utf8", 1);
  EXPECT_TRUE(progress_options().unicode);
}

TEST_F(ProgressEnvironment, FileIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  const ProgressOptions options = progress_options(file);
  EXPECT_FALSE(options.terminal);
  EXPECT_FALSE(options.colour);
  EXPECT_EQ(options.width(), 80);
  std::fclose(file);
}

}  // namespace
}  // namespace primal::base
