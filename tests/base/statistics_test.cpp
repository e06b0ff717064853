// Scores of classes and intervals, against values computed by hand.
#include "base/statistics.h"

#include <gtest/gtest.h>

namespace {

TEST(Statistics, ScoresOfEachClass) {
  const auto scores = primal::report::class_scores({{3, 1, 0}, {2, 4, 0}, {0, 0, 0}});
  EXPECT_EQ(scores[0].cases, 4);
  EXPECT_DOUBLE_EQ(scores[0].precision, 3.0 / 5);
  EXPECT_DOUBLE_EQ(scores[0].recall, 3.0 / 4);
  EXPECT_DOUBLE_EQ(scores[0].f1, 6.0 / 9);
  EXPECT_EQ(scores[2].precision, 0) << "never predicted";
  EXPECT_EQ(scores[2].recall, 0) << "no case";
  EXPECT_EQ(scores[2].f1, 0);
}

TEST(Statistics, WilsonInterval) {
  const auto [low, high] = primal::wilson_interval(0.9, 100);  // R: prop.test(90, 100, correct = FALSE)
  EXPECT_NEAR(low, 0.8256, 1e-4);
  EXPECT_NEAR(high, 0.9448, 1e-4);
  EXPECT_LE(primal::wilson_interval(1, 5).second, 1 + 1e-12);
}

}  // namespace
