// Time series for tests: from text, as text, and compared.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "data/series/series_reader.h"

namespace primal::tests {

inline data::TimeSeriesSet from_ts(std::string_view text, const data::ReadOptions& options = {}) {
  return data::read_all(*data::make_ts_reader(data::LineSource("a.ts", text), options), "a.ts");
}

inline data::TimeSeriesSet from_csv(std::string_view text, const data::ReadOptions& options = {}) {
  return data::read_all(*data::make_csv_reader(data::LineSource("a.csv", text), options), "a.csv");
}

/// The shortest text that reads back as the same number; ? for NaN.
template <typename T>
std::string number_text(T value) {
  if (std::isnan(value)) return "?";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

inline std::string to_ts(const data::TimeSeriesSet& set) {
  std::string text = "@problemName " + set.name + "\n@dimensions " + std::to_string(set.channels) + "\n";
  if (!set.labels.empty()) {
    text += "@classLabel true";
    for (const std::string& name : set.class_names) text += " " + name;
  }
  text += set.targets.empty() ? "\n@data\n" : "@targetLabel true\n@data\n";
  for (int64_t i = 0; i < set.cases(); ++i) {
    for (int64_t c = 0; c < set.channels; ++c) {
      for (int64_t t = 0; t < set.length(i); ++t) {
        text += number_text(set.series(i)[t * set.channels + c]) + (t + 1 < set.length(i) ? "," : "");
      }
      if (c + 1 < set.channels) text += ':';
    }
    if (!set.labels.empty()) text += ':' + set.class_names[set.labels[i]];
    if (!set.targets.empty()) text += ':' + number_text(set.targets[i]);
    text += '\n';
  }
  return text;
}

/// A cell in quotes, quotes inside doubled.
inline std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

inline std::string to_csv(const data::TimeSeriesSet& set, char delimiter = ',') {
  std::string text = "series";
  if (!set.times.empty()) text += std::string(1, delimiter) + "time";
  for (int64_t c = 0; c < set.channels; ++c) text += delimiter + std::string("c") + std::to_string(c);
  if (!set.labels.empty()) text += std::string(1, delimiter) + "label";
  if (!set.targets.empty()) text += std::string(1, delimiter) + "target";
  text += '\n';
  for (int64_t i = 0; i < set.cases(); ++i) {
    for (int64_t t = 0; t < set.length(i); ++t) {
      text += quoted(set.ids[i]);
      if (!set.times.empty()) text += delimiter + number_text(set.times[set.offsets[i] + t]);
      for (int64_t c = 0; c < set.channels; ++c) {
        text += delimiter + number_text(set.series(i)[t * set.channels + c]);
      }
      if (!set.labels.empty()) text += delimiter + quoted(set.class_names[set.labels[i]]);
      if (!set.targets.empty()) text += delimiter + number_text(set.targets[i]);
      text += '\n';
    }
  }
  return text;
}

/// Any finite float, NaN now and then.
inline float random_value(std::mt19937& random) {
  for (;;) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) return random() % 10 == 0 ? std::nanf("") : value;
  }
}

/// A set with two classes, one case of each at least; the ids are those of a .ts file.
inline data::TimeSeriesSet random_set(std::mt19937& random) {
  data::TimeSeriesSet set;
  set.name = "random";
  set.channels = 1 + static_cast<int64_t>(random() % 4);
  set.class_names = {"a", "b"};
  const int64_t cases = 2 + static_cast<int64_t>(random() % 5);
  for (int64_t i = 0; i < cases; ++i) {
    const int64_t length = 1 + static_cast<int64_t>(random() % 9);
    set.ids.push_back(std::to_string(i));
    set.offsets.push_back(set.offsets.back() + length);
    set.labels.push_back(i < 2 ? i : static_cast<int64_t>(random() % 2));
    for (int64_t k = 0; k < length * set.channels; ++k) set.values.push_back(random_value(random));
  }
  return set;
}

/// Everything but the name; values bit for bit, NaN being NaN.
inline void expect_same(const data::TimeSeriesSet& actual, const data::TimeSeriesSet& expected) {
  EXPECT_EQ(actual.channels, expected.channels);
  EXPECT_EQ(actual.ids, expected.ids);
  EXPECT_EQ(actual.offsets, expected.offsets);
  EXPECT_EQ(actual.times, expected.times);
  EXPECT_EQ(actual.class_names, expected.class_names);
  EXPECT_EQ(actual.labels, expected.labels);
  EXPECT_EQ(actual.targets, expected.targets);
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    if (std::isnan(expected.values[i])) {
      EXPECT_TRUE(std::isnan(actual.values[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(actual.values[i]), std::bit_cast<uint32_t>(expected.values[i])) << i;
    }
  }
}

}  // namespace primal::tests
