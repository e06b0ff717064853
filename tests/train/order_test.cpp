#include "train/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace primal::train {
namespace {

using Numbers = std::vector<int64_t>;

TEST(Shuffled, IsAPermutationThatSeedAndPassDecide) {
  const auto order = shuffled(100, 1, 0);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 99);
  EXPECT_EQ(order, shuffled(100, 1, 0));
  EXPECT_NE(order, shuffled(100, 1, 1));
  EXPECT_NE(order, shuffled(100, 2, 0));
  // Neighbouring seeds do not run through the same orders one epoch apart.
  EXPECT_NE(shuffled(100, 1, 1), shuffled(100, 2, 0));
  EXPECT_TRUE(shuffled(0, 1, 0).empty());
}

TEST(Shuffled, PutsEveryExampleFirstEquallyOften) {
  std::array<int, 5> first{};
  for (int64_t epoch = 0; epoch < 5000; ++epoch) ++first[static_cast<size_t>(shuffled(5, 3, epoch)[0])];
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);  // 5 deviations
}

// 10 examples in batches of 3: 3 3 3 1.
Order whole(int64_t accumulate = 1) { return Order({.examples = 10, .batch = 3, .accumulate = accumulate}); }
Order endless(int64_t accumulate = 1) {
  return Order({.examples = 10, .batch = 3, .accumulate = accumulate, .passes = Passes::endless});
}

TEST(Order, WholePassesEndWithWhatIsLeft) {
  Order order = whole();
  for (int64_t pass = 0; pass < 3; ++pass) {
    Numbers seen;
    for (int64_t k = 4 * pass; k < 4 * pass + 4; ++k) {
      const Numbers batch = order.examples_of(k);
      EXPECT_EQ(batch.size(), k % 4 < 3 ? 3u : 1u);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(seen, shuffled(10, 1, pass));
  }
}

TEST(Order, EndlessPassesRunOnIntoTheNext) {
  Order order = endless();
  Numbers seen, expected;
  for (int64_t k = 0; k < 10; ++k) {
    const Numbers batch = order.examples_of(k);
    EXPECT_EQ(batch.size(), 3u);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  for (int64_t pass = 0; pass < 3; ++pass) {
    const Numbers one = shuffled(10, 1, pass);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(seen, expected);
}

TEST(Order, ABatchDependsOnItsNumberAlone) {
  for (const bool is_endless : {false, true}) {
    Order in_order = is_endless ? endless() : whole();
    std::vector<Numbers> batches;
    for (int64_t k = 0; k < 12; ++k) batches.push_back(in_order.examples_of(k));
    for (const int64_t k : {11, 3, 4, 0}) EXPECT_EQ((is_endless ? endless() : whole()).examples_of(k), batches[k]) << k;
  }
}

TEST(Order, AnEndlessBatchMayBeLargerThanTheSet) {
  Order order({.examples = 3, .batch = 8, .passes = Passes::endless});
  Numbers expected;
  for (int64_t pass = 0; pass < 3; ++pass) {
    const Numbers one = shuffled(3, 1, pass);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  expected.resize(8);
  EXPECT_EQ(order.examples_of(0), expected);
}

TEST(Order, StepsTakeTheirBatches) {
  using Pair = std::pair<int64_t, int64_t>;
  const Order order = whole(3);  // a pass has steps of 3 and 1 batches
  EXPECT_EQ(order.batches_of(0), Pair(0, 3));
  EXPECT_EQ(order.batches_of(1), Pair(3, 4));
  EXPECT_EQ(order.batches_of(2), Pair(4, 7));
  EXPECT_EQ(endless(3).batches_of(2), Pair(6, 9));
}

TEST(Order, KnowsStepsOfEpochsAndEpochsOfSteps) {
  EXPECT_EQ(whole().steps_of(base::epochs(2)), 8);
  EXPECT_EQ(whole(3).steps_of(base::epochs(2)), 4);
  EXPECT_EQ(endless().steps_of(base::epochs(2)), 7) << "20 examples in batches of 3, rounded up";
  EXPECT_EQ(endless().steps_of(base::steps(5)), 5);
  EXPECT_EQ(whole().epochs_at(8), 2);
  EXPECT_DOUBLE_EQ(whole().epochs_at(9), 2.3);
  EXPECT_DOUBLE_EQ(endless().epochs_at(5), 1.5);
  for (const int64_t steps : {0, 3, 4, 9, 12}) {
    EXPECT_EQ(whole().steps_at(whole().epochs_at(steps)), steps);
    EXPECT_EQ(endless().steps_at(endless().epochs_at(steps)), steps);
  }
  EXPECT_TRUE(whole().ends_pass(4));
  EXPECT_FALSE(whole().ends_pass(5));
  EXPECT_FALSE(endless().ends_pass(10)) << "passes that run on have no end";
}

}  // namespace
}  // namespace primal::train
