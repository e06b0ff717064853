// Means and intervals, against values computed by hand.
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

TEST(Statistics, MeanAndDeviationOfASample) {
  const std::array values = {1.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(primal::base::mean(values), 2);
  EXPECT_DOUBLE_EQ(primal::base::deviation(values), 1);
  EXPECT_TRUE(std::isnan(primal::base::deviation(std::array{0.5})));
  EXPECT_TRUE(std::isnan(primal::base::mean({})));
}

TEST(Statistics, IntervalOfAMean) {
  EXPECT_NEAR(primal::base::mean_interval(std::array{1.0, 2.0, 3.0}), 2.4841, 1e-4);  // R: t.test(1:3)
  std::vector<double> many(12);
  std::iota(many.begin(), many.end(), 1.0);
  EXPECT_NEAR(primal::base::mean_interval(many), 2.2908, 1e-3);  // R: t.test(1:12)
  EXPECT_TRUE(std::isnan(primal::base::mean_interval(std::array{0.5})));
}

TEST(Statistics, WilsonInterval) {
  const auto [low, high] = primal::base::wilson_interval(0.9, 100);  // R: prop.test(90, 100, correct = FALSE)
  EXPECT_NEAR(low, 0.8256, 1e-4);
  EXPECT_NEAR(high, 0.9448, 1e-4);
  EXPECT_LE(primal::base::wilson_interval(1, 5).second, 1 + 1e-12);
}

}  // namespace
