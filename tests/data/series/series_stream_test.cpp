// Files and pipes give the same series, and a pipe gives each as soon as it is complete.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "support/series.h"

namespace {

namespace fs = std::filesystem;
using primal::data::LineSource;
using primal::data::open_series;
using primal::data::read_series;
using primal::data::Series;
using primal::tests::error_of;
using SeriesStream = primal::tests::FolderTest;

/// Standard input of this process is the reading end of a pipe while this lives.
class StandardInput {
 public:
  StandardInput() : before_(::dup(STDIN_FILENO)) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    writes_to_ = ends[1];
  }
  ~StandardInput() {
    close();
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(writes_to_, text.data(), text.size());
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void close() {
    if (writes_to_ >= 0) ::close(writes_to_);
    writes_to_ = -1;
  }

 private:
  int before_, writes_to_ = -1;
};

const std::string kTs = "# x\n@classLabel true a b\n@data\n1,2:3,4:a\n5:6:b\n";
const std::string kCsv = "# x\nseries,x,label\none,1,a\none,2,a\ntwo,3,b\n";

TEST_F(SeriesStream, TheEndingOfAFileDecidesItsFormat) {
  EXPECT_EQ(read_series(write("x.ts", kTs)).channels, 2);
  EXPECT_EQ(read_series(write("x.TS", kTs)).channels, 2);
  EXPECT_EQ(read_series(write("x.csv", kCsv)).channels, 1);
  EXPECT_EQ(error_of([&] { read_series(write("y.ts", kCsv)); }),
            (folder / "y.ts").string() + ":2: expected a directive such as @data, got \"series,x,label\"");
}

TEST_F(SeriesStream, AnyOtherFileIsJudgedByItsFirstLine) {
  EXPECT_EQ(read_series(write("x", kTs)).channels, 2);
  EXPECT_EQ(read_series(write("x.txt", kCsv)).channels, 1);
  EXPECT_EQ(error_of([&] { read_series(write("x", "# x\n")); }),
            (folder / "x").string() + ":1: expected a header such as series,time,x,y,label, got the end of the file");
}

TEST_F(SeriesStream, WhatCannotBeReadIsAnError) {
  EXPECT_EQ(error_of([&] { read_series(folder / "none.ts"); }),
            (folder / "none.ts").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { read_series(folder); }), folder.string() + ": is a directory, expected a .ts or CSV file");
  EXPECT_EQ(error_of([&] { read_series(write("empty.ts", "")); }),
            (folder / "empty.ts").string() + ": is empty, expected a .ts file");
}

TEST_F(SeriesStream, StandardInputNeedsNoName) {
  for (const std::string& text : {kTs, kCsv}) {
    StandardInput input;
    input.write(text);
    input.close();
    primal::tests::expect_same(read_series("-"), read_series(write("file", text)));
  }
  StandardInput input;
  input.write("@data\nx\n");
  input.close();
  EXPECT_EQ(error_of([] { read_series("-"); }), "standard input:2: channel 1, value 1: expected a number, got \"x\"");
}

TEST_F(SeriesStream, TheHeadIsKnownBeforeTheFirstCase) {
  StandardInput input;
  input.write("@problemName P\n@dimensions 2\n@classLabel true a b\n@data\n");
  const auto reader = open_series("-");
  EXPECT_EQ(reader->name(), "P");
  EXPECT_EQ(reader->channels(), 2);
  EXPECT_EQ(reader->class_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(reader->has_labels());
  EXPECT_FALSE(reader->has_targets());
  EXPECT_FALSE(reader->has_times());
}

TEST_F(SeriesStream, ACaseOfTsIsThereWithTheEndOfItsLine) {
  StandardInput input;
  input.write("@data\n1,2\n3");  // the pipe stays open: to wait for more would never end
  const auto reader = open_series("-");
  Series series;
  ASSERT_TRUE(reader->next(series));
  EXPECT_EQ(series.values, (std::vector<float>{1, 2}));
  input.write("4\n");
  ASSERT_TRUE(reader->next(series));
  EXPECT_EQ(series.values, (std::vector<float>{34}));
}

TEST_F(SeriesStream, ASeriesOfCsvEndsWithTheNextOrABlankLine) {
  StandardInput input;
  input.write("series,time,x\na,0,1\na,1,2\nb,0,3\n");
  const auto reader = open_series("-");
  Series series;
  ASSERT_TRUE(reader->next(series));
  EXPECT_EQ(series.id, "a");
  EXPECT_EQ(series.length, 2);
  EXPECT_EQ(series.times, (std::vector<double>{0, 1}));
  input.write("\n");
  ASSERT_TRUE(reader->next(series));
  EXPECT_EQ(series.id, "b");
  EXPECT_FALSE(series.label.has_value());
  input.close();
  EXPECT_FALSE(reader->next(series));
}

TEST_F(SeriesStream, APipeInPiecesOfAnySizeGivesTheSameAsTheFile) {
  std::mt19937 random(2);
  for (int round = 0; round < 30; ++round) {
    const auto set = primal::tests::random_set(random);
    const std::string text = round % 2 == 0 ? primal::tests::to_ts(set) : primal::tests::to_csv(set);
    StandardInput input;
    std::thread writer([&, seed = random()] {
      std::mt19937 sizes(static_cast<uint32_t>(seed));
      for (std::size_t at = 0; at < text.size();) {
        const std::string_view piece = std::string_view(text).substr(at, 1 + sizes() % 40);
        input.write(piece);
        at += piece.size();
      }
      input.close();
    });
    const auto read = read_series("-");
    writer.join();
    primal::tests::expect_same(read, set);
  }
}

TEST_F(SeriesStream, ANamedPipeIsReadAsItComes) {
  const fs::path pipe = folder / "pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << kCsv; });
  EXPECT_EQ(read_series(pipe).cases(), 2);
  writer.join();
}

int64_t largest_memory() {  // of this process so far, in KiB
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(SeriesStream, MemoryDoesNotGrowWithTheLengthOfThePipe) {
  const std::string line = "1.5" + [] {
    std::string values;
    for (int i = 1; i < 2000; ++i) values += ",1.5";
    return values + "\n";
  }();
  constexpr int kCases = 20'000;  // 160 MB of text
  StandardInput input;
  const int64_t before = largest_memory();
  std::thread writer([&] {
    input.write("@data\n");
    for (int i = 0; i < kCases; ++i) input.write(line);
    input.close();
  });
  const auto reader = open_series("-");
  int cases = 0;
  for (Series series; reader->next(series);) ++cases;
  writer.join();
  EXPECT_EQ(cases, kCases);
  EXPECT_LT(largest_memory() - before, 20'000);
}

TEST(LineSource, GivesALineAgainOnRequestAndCountsItOnce) {
  LineSource lines("x", "a\r\nb\n\nc");
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "a");
  lines.put_back();
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "a");
  EXPECT_EQ(lines.line_number(), 1);
  std::string rest;
  while (lines.next(line)) rest += std::to_string(lines.line_number()) + std::string(line) + ";";
  EXPECT_EQ(rest, "2b;3;4c;");
}

}  // namespace
