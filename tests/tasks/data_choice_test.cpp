// Which examples a choice takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tasks/task.h"

namespace primal::tasks {
namespace {

TEST(DataChoice, TakesTheFirst) {
  EXPECT_EQ(order_of({}, 4), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(order_of({.examples = 2}, 4), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(order_of({.examples = 9}, 4), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(DataChoice, SpreadTakesEachOnce) {
  for (const int64_t all : {0, 1, 2, 3, 7, 10, 97, 1024}) {
    const std::vector<int64_t> order = order_of({.spread = true}, all);
    EXPECT_EQ(std::ssize(std::set(order.begin(), order.end())), all);
    for (const int64_t place : order) EXPECT_LT(place, all);
  }
}

// A file sorted by class: any beginning has all of ten classes in nearly equal numbers.
TEST(DataChoice, EveryBeginningOfASpreadChoiceIsSpread) {
  constexpr int64_t kAll = 1000;
  for (const int64_t some : {30, 100, 333}) {
    std::vector<int64_t> counts(10);
    for (const int64_t place : order_of({.examples = some, .spread = true}, kAll)) {
      ++counts[static_cast<size_t>(place / (kAll / 10))];
    }
    EXPECT_LE(std::ranges::max(counts) - std::ranges::min(counts), 6) << some;
    EXPECT_GT(std::ranges::min(counts), 0) << some;
  }
}

}  // namespace
}  // namespace primal::tasks
