#include "data/series/precise_channels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "data/series/prepare.h"
#include "support/series.h"

namespace {

using primal::data::interpolate_missing;
using primal::data::Scaling;
using primal::data::scaling_of;
using primal::data::standardise;
using primal::data::TimeSeriesSet;
using primal::tests::from_csv;

// x: offset + sin(t), y: sin(t), z: 0.1 throughout.
std::string waves(double offset) {
  std::ostringstream text;
  text.precision(17);
  text << "series,x,y,z\n";
  for (int i = 0; i < 4; ++i) {
    for (int t = 0; t < 20; ++t) {
      text << i << ',' << offset + std::sin(i + t) << ',' << std::sin(i + t) << ",0.1\n";
    }
  }
  return text.str();
}

TEST(PreciseChannels, ALargeOffsetTakesNothingAway) {
  for (const double offset : {1e9, -1e9, 1e6}) {
    TimeSeriesSet set = from_csv(waves(offset));
    const Scaling scaling = scaling_of(set);
    EXPECT_EQ(scaling.precise, std::vector<int64_t>{0});
    EXPECT_NEAR(scaling.deviation[0], scaling.deviation[1], 1e-5);
    standardise(set, scaling);
    for (size_t i = 0; i < set.values.size(); i += 3) EXPECT_NEAR(set.values[i], set.values[i + 1], 1e-4);
    EXPECT_TRUE(set.remainders.empty());
  }
}

TEST(PreciseChannels, OrdinaryAndConstantChannelsKeepNothing) {
  EXPECT_TRUE(from_csv(waves(0)).remainders.empty());
  EXPECT_TRUE(from_csv(waves(100)).remainders.empty());
  const TimeSeriesSet set = from_csv(waves(1e9));
  ASSERT_EQ(set.remainders.size(), set.values.size());
  for (size_t i = 0; i < set.values.size(); ++i) EXPECT_TRUE(i % 3 == 0 || set.remainders[i] == 0);
}

TEST(PreciseChannels, AGapIsFilledExactly) {
  TimeSeriesSet set = from_csv("series,x\na,1000000000\na,\na,1000000001\n");
  interpolate_missing(set);
  EXPECT_EQ(static_cast<double>(set.values[1]) + set.remainders[1], 1000000000.5);
}

TEST(PreciseChannels, ACaseTakesItsRemaindersAlong) {
  const TimeSeriesSet set = from_csv(waves(1e9));
  const std::vector<int64_t> second = {1};
  const TimeSeriesSet one = set.subset(second);
  EXPECT_EQ(one.remainders, std::vector<float>(set.remainders.begin() + 60, set.remainders.begin() + 120));
}

}  // namespace
