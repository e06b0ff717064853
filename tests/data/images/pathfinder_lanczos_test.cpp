#include "data/images/pathfinder_lanczos.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace {

using primal::data::GreySquare;
using primal::data::LanczosTaps;

void expect_weights(const LanczosTaps& taps, int64_t first, const std::vector<double>& expected) {
  EXPECT_EQ(taps.first, first);
  ASSERT_EQ(taps.weights.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(taps.weights[i] / double{1 << 22}, expected[i], 6e-6) << "weight " << i;
  }
}

TEST(PathfinderLanczos, WeightsInTheMiddleAreThoseOfPillow) {
  expect_weights(primal::data::lanczos_taps(17, 9)[4], 3,
                 {.00745, .01037, -.06125, -.02367, .30173, .53076, .30173, -.02367, -.06125, .01037, .00745});
}

TEST(PathfinderLanczos, WeightsAtTheBorderAreThoseOfPillow) {
  expect_weights(primal::data::lanczos_taps(17, 9)[0], 0, {.50530, .47611, .10035, -.08227, -.01598, .01627, .00022});
}

TEST(PathfinderLanczos, WeightsAddUpToOne) {
  for (const LanczosTaps& taps : primal::data::lanczos_taps(64, 32)) {
    EXPECT_NEAR(std::accumulate(taps.weights.begin(), taps.weights.end(), 0.0) / (1 << 22), 1, 1e-5);
  }
}

TEST(PathfinderLanczos, AnEvenPictureStaysEven) {
  GreySquare grey(17);
  grey.pixels.assign(grey.pixels.size(), 200);
  EXPECT_EQ(primal::data::reduced(grey, 9).pixels, std::vector<uint8_t>(81, 200));
}

TEST(PathfinderLanczos, OvershootIsCutToBytes) {
  GreySquare half(64);
  for (int64_t y = 0; y < 64; ++y) {
    for (int64_t x = 32; x < 64; ++x) half.at(y, x) = 255;
  }
  const GreySquare small = primal::data::reduced(half, 32);
  EXPECT_EQ(small.at(16, 14), 0);  // where the filter swings below black
  EXPECT_EQ(small.at(16, 17), 255);
  EXPECT_EQ(small.at(16, 0), 0);
  EXPECT_EQ(small.at(16, 31), 255);
}

}  // namespace
