// What holds for every file: what was written is read back, and no damage is more than an error.
#include <gtest/gtest.h>
#include <primal/error.h>

#include <random>
#include <string>

#include "support/series.h"

namespace {

using primal::data::TimeSeriesSet;
using primal::tests::from_csv;
using primal::tests::from_ts;
using primal::tests::random_set;

TEST(SeriesProperty, WhatIsWrittenAsTsIsReadBackBitForBit) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    TimeSeriesSet set = random_set(random);
    if (round % 3 == 1) set.labels.clear(), set.class_names.clear();
    if (round % 3 == 2) {
      set.labels.clear(), set.class_names.clear();
      for (int64_t i = 0; i < set.cases(); ++i) set.targets.push_back(static_cast<double>(i) * 0.3);
    }
    primal::tests::expect_same(from_ts(primal::tests::to_ts(set)), set);
  }
}

TEST(SeriesProperty, WhatIsWrittenAsCsvIsReadBackBitForBit) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    TimeSeriesSet set = random_set(random);
    for (auto& id : set.ids) id = "\"," + id + ";\t\xc3\xa9 ";
    set.class_names = {"a \"quoted\" class", "b, c"};
    if (round % 2 == 1) {
      for (int64_t t = 0; t < set.offsets.back(); ++t) set.times.push_back(static_cast<double>(t) * 0.1 - 3);
    }
    const char delimiter = ",;\t"[round % 3];
    primal::tests::expect_same(from_csv(primal::tests::to_csv(set, delimiter)), set);
  }
}

/// The message if the text cannot be read, else "".
std::string error_in(const std::string& text, bool as_ts, bool labels_optional) {
  try {
    (as_ts ? from_ts : from_csv)(text, {.labels_optional = labels_optional});
    return "";
  } catch (const primal::Error& error) {
    return error.what();
  }
}

/// Reads the text in both formats and for both uses; every failure must be one line that names the file.
void expect_no_more_than_an_error(const std::string& text) {
  for (const bool labels_optional : {false, true}) {
    for (const bool ts : {false, true}) {
      const std::string error = error_in(text, ts, labels_optional);
      EXPECT_TRUE(error.empty() || error.starts_with(ts ? "a.ts:" : "a.csv:")) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      EXPECT_LT(error.size(), 1000U);
    }
  }
}

TEST(SeriesProperty, NoCutOfAFileIsMoreThanAnError) {
  std::mt19937 random(5);
  const TimeSeriesSet set = random_set(random);
  for (const std::string& text : {primal::tests::to_ts(set), primal::tests::to_csv(set)}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      expect_no_more_than_an_error(text.substr(0, size));
      expect_no_more_than_an_error(text.substr(size));
    }
  }
}

TEST(SeriesProperty, NoChangedByteIsMoreThanAnError) {
  std::mt19937 random(6);
  const TimeSeriesSet set = random_set(random);
  for (const std::string& text : {primal::tests::to_ts(set), primal::tests::to_csv(set)}) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = "\n\r,:;\"?@#\xff\x01 -e."[random() % 15];
      expect_no_more_than_an_error(changed);
    }
  }
}

}  // namespace
