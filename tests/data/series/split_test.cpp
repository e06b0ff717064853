#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "data/series/prepare.h"
#include "support/errors.h"

namespace {

using primal::data::random_split;
using primal::data::Split;
using primal::data::stratified_split;

/// Labels of classes with these sizes, in turn as long as they last: 0 1 2 0 1 2 0 2 ...
std::vector<int64_t> labels_of(std::vector<int64_t> sizes) {
  std::vector<int64_t> labels;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      if (sizes[c]-- <= 0) continue;
      labels.push_back(static_cast<int64_t>(c));
      more = true;
    }
  }
  return labels;
}

std::vector<int64_t> held_out_of(const std::vector<int64_t>& sizes, double fraction, uint64_t seed = 1) {
  const std::vector<int64_t> labels = labels_of(sizes);
  const Split split = stratified_split(labels, static_cast<int64_t>(sizes.size()), fraction, seed);
  std::vector<int64_t> counts(sizes.size());
  for (const int64_t i : split.held_out) ++counts[labels[i]];
  return counts;
}

TEST(Split, EveryCaseIsInExactlyOnePartInRisingOrder) {
  const Split split = stratified_split(labels_of({13, 5, 1, 30}), 4, 0.3, 9);
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(std::ranges::is_sorted(split.held_out));
  std::vector<int64_t> all = split.train;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::ranges::sort(all);
  std::vector<int64_t> expected(49);
  std::iota(expected.begin(), expected.end(), int64_t{0});
  EXPECT_EQ(all, expected);
}

TEST(Split, TakesTheFractionOfEveryClass) {
  EXPECT_EQ(held_out_of({10, 20, 50}, 0.2), (std::vector<int64_t>{2, 4, 10}));
  EXPECT_EQ(held_out_of({30, 30, 30, 30, 30, 30, 30, 30, 30}, 0.2), std::vector<int64_t>(9, 6));
}

TEST(Split, RareClassesRoundSoThatTheTotalIsRight) {
  EXPECT_EQ(held_out_of({3, 3, 3, 3, 3}, 0.2), (std::vector<int64_t>{1, 1, 1, 0, 0}));
  EXPECT_EQ(held_out_of({4, 2, 14}, 0.2), (std::vector<int64_t>{1, 0, 3}));
}

TEST(Split, EveryClassKeepsOneCaseForTraining) {
  EXPECT_EQ(held_out_of({1, 1, 1, 1, 6}, 0.5), (std::vector<int64_t>{0, 0, 0, 0, 5}));
  EXPECT_EQ(held_out_of({2, 2}, 0.99), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(held_out_of({1, 0, 3}, 0.9), (std::vector<int64_t>{0, 0, 2}));
}

TEST(Split, DependsOnTheSeedAndNothingElse) {
  const Split split = random_split(20, 0.3, 42);
  EXPECT_EQ(split.held_out, (std::vector<int64_t>{3, 8, 11, 16, 17, 18}));  // the same on every machine
  EXPECT_NE(random_split(20, 0.3, 43).held_out, split.held_out);
}

TEST(Split, EveryCaseIsHeldOutEquallyOften) {
  std::vector<int> counts(10);
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    for (const int64_t i : random_split(10, 0.2, seed).held_out) ++counts[i];
  }
  for (const int count : counts) EXPECT_NEAR(count, 2000, 200);
}

TEST(Split, HoldsOutSmallAndLargeTargetsAlike) {
  primal::data::TimeSeriesSet set;
  set.channels = 1;
  for (int64_t i = 0; i < 100; ++i) {
    set.ids.push_back(std::to_string(i));
    set.values.push_back(0);
    set.offsets.push_back(i + 1);
    set.targets.push_back(static_cast<double>((i * 37) % 100));
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> tens(10);
    for (const int64_t i : primal::data::split(set, 0.2, seed).held_out)
      ++tens[static_cast<size_t>(set.targets[i]) / 10];
    EXPECT_EQ(tens, std::vector<int>(10, 2)) << seed;
  }
}

TEST(Split, NothingAndEverythingAreHandled) {
  EXPECT_TRUE(random_split(10, 0, 1).held_out.empty());
  EXPECT_TRUE(random_split(0, 0.2, 1).train.empty());
  EXPECT_EQ(random_split(1, 0.9, 1).train.size(), 1U);
  for (const double fraction : {-0.1, 1.0, std::nan("")}) {
    EXPECT_TRUE(primal::tests::error_of([&] {
                  random_split(10, fraction, 1);
                }).starts_with("split: expected a fraction from 0 to below 1, got "));
  }
}

}  // namespace
