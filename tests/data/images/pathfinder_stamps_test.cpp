#include "data/images/pathfinder_stamps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using primal::data::GreySquare;
using primal::data::PathfinderOptions;
using primal::data::PathfinderPoint;
using primal::data::PathfinderStamp;
using primal::data::PathfinderStamps;
using Bytes = std::vector<int>;

// The dashes of 32 x 32 pictures: what Pillow 13 draws and reduces, and OpenCV dilates.
PathfinderStamp at_degrees(int64_t degrees) {
  return primal::data::pathfinder_stamp(PathfinderOptions{}, 1, primal::data::radians(degrees));
}

Bytes row(const GreySquare& square, int64_t y) {
  const auto first = square.pixels.begin() + y * square.side;
  return {first, first + square.side};
}

Bytes column(const GreySquare& square, int64_t x) {
  Bytes result;
  for (int64_t y = 0; y < square.side; ++y) result.push_back(square.at(y, x));
  return result;
}

const Bytes kBlack(9, 0);

TEST(PathfinderStamps, ALineToTheRightIsThatOfPillow) {
  const GreySquare line = at_degrees(0).line;
  ASSERT_EQ(line.side, 9);
  EXPECT_EQ(row(line, 4), (Bytes{0, 0, 2, 0, 102, 135, 116, 0, 0}));
  for (const int64_t y : {0, 1, 2, 3, 5, 6, 7, 8}) EXPECT_EQ(row(line, y), kBlack) << "row " << y;
}

TEST(PathfinderStamps, AMaskIsTheLineWithItsMargin) {
  const GreySquare mask = at_degrees(0).mask;
  for (const int64_t y : {3, 5}) EXPECT_EQ(row(mask, y), (Bytes{0, 1, 2, 20, 173, 204, 186, 28, 0})) << "row " << y;
  EXPECT_EQ(row(mask, 4), (Bytes{0, 3, 0, 155, 255, 255, 255, 183, 3}));
  for (const int64_t y : {1, 7}) EXPECT_EQ(row(mask, y), (Bytes{0, 0, 0, 1, 2, 2, 2, 1, 0})) << "row " << y;
  for (const int64_t y : {0, 2, 6, 8}) EXPECT_EQ(row(mask, y), kBlack) << "row " << y;
}

TEST(PathfinderStamps, ALineDownIsNotTheTurnedLineToTheRight) {
  EXPECT_EQ(column(at_degrees(90).line, 4), (Bytes{0, 0, 2, 0, 102, 147, 116, 0, 0}));
}

TEST(PathfinderStamps, ADiagonalLineIsThatOfPillow) {
  const GreySquare line = at_degrees(45).line;
  EXPECT_EQ(line.at(4, 4), 95);
  EXPECT_EQ(line.at(4, 5), 19);
  EXPECT_EQ(line.at(5, 4), 26);
  EXPECT_EQ(line.at(5, 5), 118);
  EXPECT_EQ(line.at(5, 6), 29);
  EXPECT_EQ(line.at(6, 5), 23);
  EXPECT_EQ(line.at(6, 6), 38);
}

TEST(PathfinderStamps, PeaksOverAllDegreesAreThoseOfPillow) {
  const PathfinderStamps stamps(PathfinderOptions{}, 1);
  ASSERT_EQ(stamps.beginnings.size(), 360U);
  double least = 1, most = 0, sum = 0;
  for (const auto& beginning : stamps.beginnings) {
    const double peak = std::ranges::max(beginning.stamp.line.pixels) / 255.0;
    least = std::min(least, peak);
    most = std::max(most, peak);
    sum += peak;
  }
  EXPECT_NEAR(least, 0.396, 5e-4);
  EXPECT_NEAR(sum / 360, 0.466, 5e-4);
  EXPECT_NEAR(most, 0.600, 5e-4);
}

/// A checksum of all stamps of a size. The expected ones were computed from what Pillow and OpenCV give.
uint64_t fingerprint(int64_t size) {
  uint64_t sum = 14695981039346656037U;  // FNV-1a
  const PathfinderOptions options = primal::data::published_pathfinder(size);
  for (const int64_t margin : options.margins) {
    for (int64_t degrees = -180; degrees < 180; ++degrees) {
      const PathfinderStamp stamp = primal::data::pathfinder_stamp(options, margin, primal::data::radians(degrees));
      for (const GreySquare* part : {&stamp.line, &stamp.mask}) {
        for (const uint8_t pixel : part->pixels) sum = (sum ^ pixel) * 1099511628211U;
      }
    }
  }
  return sum;
}

TEST(PathfinderStamps, AllDashesOfAllSizesAreThoseOfPillow) {
  EXPECT_EQ(fingerprint(32), 0x2083035dcb99be28U);
  EXPECT_EQ(fingerprint(64), 0x76b24a0531221fc6U);
  EXPECT_EQ(fingerprint(128), 0x6eea2e2590c07dddU);
  EXPECT_EQ(fingerprint(256), 0x23f6b45f8b7f8ab8U);
}

TEST(PathfinderStamps, ThinDashesCoverTheCornersIn30Directions) {
  const PathfinderStamps stamps(PathfinderOptions{}, 1);
  for (int64_t degrees = -180; degrees < 180; ++degrees) {
    EXPECT_EQ(stamps.beginnings[degrees + 180].covers_corners, degrees >= -150 && degrees <= -121) << degrees;
  }
}

TEST(PathfinderStamps, CandidatesLieAroundThePivotAndAreSorted) {
  const PathfinderStamps stamps(PathfinderOptions{}, 1);
  ASSERT_EQ(stamps.candidates.size(), 18U);  // two of the 19 directions share a pixel
  EXPECT_TRUE(std::ranges::is_sorted(stamps.candidates, {}, &primal::data::PathfinderCandidate::offset));
  for (const auto& [offset, angle, stamp] : stamps.candidates) {
    EXPECT_LE(std::max(std::abs(offset.y), std::abs(offset.x)), 3);
    EXPECT_DOUBLE_EQ(angle, std::atan2(offset.y, offset.x));
  }
}

TEST(PathfinderStamps, AMarkerIsHalfAFinePixelOffItsCentre) {
  const GreySquare marker = primal::data::pathfinder_marker(PathfinderOptions{}, {16, 16});
  ASSERT_EQ(marker.side, 32);
  const std::vector<Bytes> expected = {
      {0, 28, 65, 3, 1}, {28, 228, 254, 133, 2}, {66, 255, 255, 190, 6}, {0, 132, 178, 55, 1}};
  for (int64_t y = 0; y < 4; ++y) {
    for (int64_t x = 0; x < 5; ++x) EXPECT_EQ(marker.at(14 + y, 14 + x), expected[y][x]) << y << ", " << x;
  }
}

TEST(PathfinderStamps, AMarkerAtTheBorderIsCut) {
  const GreySquare marker = primal::data::pathfinder_marker(PathfinderOptions{}, {0, 31});
  EXPECT_GT(marker.at(0, 31), 200);
  EXPECT_EQ(marker.at(16, 16), 0);
}

TEST(PathfinderPoint, AStepIsRoundedUp) {
  EXPECT_EQ(primal::data::moved({10, 10}, primal::data::radians(30), 2), (PathfinderPoint{11, 12}));
  EXPECT_EQ(primal::data::moved({10, 10}, primal::data::radians(-150), 2), (PathfinderPoint{9, 9}));
}

TEST(PathfinderPoint, AnglesAreComparedTheShortWayRound) {
  using primal::data::radians;
  EXPECT_NEAR(primal::data::angle_between(radians(170), radians(-170)), radians(20), 1e-12);
  EXPECT_NEAR(primal::data::angle_between(radians(-90), radians(-60)), radians(30), 1e-12);
  EXPECT_NEAR(primal::data::turned_round(radians(-30)), radians(150), 1e-12);
  EXPECT_NEAR(primal::data::turned_round(radians(30)), radians(-150), 1e-12);
}

}  // namespace
