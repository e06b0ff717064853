#include "data/series/prepare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/series.h"

namespace {

using primal::data::interpolate_missing;
using primal::data::Scaling;
using primal::data::scaling_of;
using primal::data::standardise;
using primal::data::TimeSeriesSet;
using primal::tests::from_csv;
using primal::tests::from_ts;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> interpolated(std::vector<float> values, std::vector<double> times = {}) {
  interpolate_missing(values, 1, times);
  return values;
}

TEST(Interpolation, DrawsALineBetweenNeighboursAndKeepsTheEdges) {
  EXPECT_EQ(interpolated({1, kNan, kNan, 4}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(interpolated({kNan, kNan, 5, kNan, 7, kNan}), (std::vector<float>{5, 5, 5, 6, 7, 7}));
  EXPECT_EQ(interpolated({1, 2}), (std::vector<float>{1, 2}));
}

TEST(Interpolation, FollowsTheTimesIfThereAreAny) {
  EXPECT_EQ(interpolated({0, kNan, 10}, {100, 101, 110}), (std::vector<float>{0, 1, 10}));
}

TEST(Interpolation, StaysFiniteBetweenTheLargestFloats) {
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(interpolated({-kMax, kNan, kMax}), (std::vector<float>{-kMax, 0, kMax}));
}

TEST(Interpolation, NeverMixesChannelsOrSeries) {
  TimeSeriesSet set = from_ts("@data\n?,1,?:10,?,30\n2,?:?,?\n");
  interpolate_missing(set);
  EXPECT_EQ(std::vector<float>(set.values.begin(), set.values.begin() + 6), (std::vector<float>{1, 10, 1, 20, 1, 30}));
  EXPECT_EQ(set.values[6], 2.0F);
  EXPECT_EQ(set.values[8], 2.0F);
  EXPECT_TRUE(std::isnan(set.values[7]) && std::isnan(set.values[9]));  // no value to go by
}

TEST(Interpolation, ASetWithTimesUsesThoseOfEachSeries) {
  TimeSeriesSet set = from_csv("series,time,x\na,0,1\nb,0,0\nb,1,\nb,4,8\n");
  interpolate_missing(set);
  EXPECT_EQ(set.values, (std::vector<float>{1, 0, 2, 8}));
}

TEST(Scaling, IsMeanAndSampleDeviationOfEachChannel) {
  const Scaling scaling = scaling_of(from_ts("@data\n1,2:5,5\n3,4,?:5,5,5\n"));
  EXPECT_DOUBLE_EQ(scaling.mean[0], 2.5);
  EXPECT_DOUBLE_EQ(scaling.deviation[0], std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(scaling.mean[1], 5);
  EXPECT_EQ(scaling.deviation[1], 0);
}

TEST(Scaling, KeepsTheDeviationOfValuesFarFromZero) {
  TimeSeriesSet set = from_ts("@data\n16000000,16000001,16000002\n");
  EXPECT_DOUBLE_EQ(scaling_of(set).deviation[0], 1);
}

TEST(Scaling, GivesMeanZeroAndDeviationOne) {
  std::mt19937 random(7);
  TimeSeriesSet set = from_ts("@data\n0.1,0.2,0.4,9:-3,7,8,-20\n");
  standardise(set.values, set.channels, scaling_of(set));
  const Scaling after = scaling_of(set);
  for (int c = 0; c < 2; ++c) {
    EXPECT_NEAR(after.mean[c], 0, 1e-6);
    EXPECT_NEAR(after.deviation[c], 1, 1e-6);
  }
}

TEST(Scaling, ConstantMissingAndSingleValuesBecomeZero) {
  TimeSeriesSet set = from_ts("@data\n0.1,0.1,0.1:?,?,?:1,2,?\n");
  const Scaling scaling = scaling_of(set);
  standardise(set.values, set.channels, scaling);
  for (int t = 0; t < 3; ++t) EXPECT_EQ(set.values[t * 3] + set.values[t * 3 + 1], 0);
  EXPECT_EQ(set.values[8], 0);
  std::vector<float> other = {7, 7, 1e38F};
  standardise(other, 3, scaling);
  EXPECT_EQ(other[0], 0);
  EXPECT_EQ(other[1], 0);
  EXPECT_TRUE(std::isfinite(other[2]));
  EXPECT_EQ(scaling_of(from_ts("@data\n3\n")).deviation[0], 0);
}

TEST(TimeScaling, IsTheMedianStepWithinSeries) {
  EXPECT_EQ(
      primal::data::time_scaling_of(from_csv("series,time,x\na,0,1\na,2,1\na,4,1\nb,90,1\nb,92,1\nb,99,1\n")).step, 2);
  EXPECT_EQ(primal::data::time_scaling_of(from_csv("series,time,x\na,0,1\nb,5,1\n")).step, 1);
  EXPECT_EQ(primal::data::time_scaling_of(from_ts("@data\n1,2,3\n")).step, 1);
}

TEST(TimeScaling, CountsFromTheStartOfTheSeries) {
  const std::vector<double> times = {1e9, 1e9 + 2, 1e9 + 3};
  EXPECT_EQ(primal::data::scaled_times(times, {2}), (std::vector<float>{0, 1, 1.5}));
  EXPECT_TRUE(primal::data::scaled_times({}, {2}).empty());
}

}  // namespace
