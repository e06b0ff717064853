// Pathfinder pictures against statistics of an independent restatement of the published generator (200 pictures each).
// Tolerances are four standard errors of the difference.
#include "data/images/pathfinder_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace {

using primal::data::BorderRule;
using primal::data::PathfinderImage;
using primal::data::PathfinderOptions;
using primal::data::PathfinderPainter;
using primal::data::PathfinderPoint;
using primal::data::PathfinderScene;
using primal::data::Snake;

constexpr int64_t kPictures = 600;
constexpr uint64_t kSeed = 1;

double distance(PathfinderPoint a, PathfinderPoint b) {
  return std::hypot(static_cast<double>(a.y - b.y), static_cast<double>(a.x - b.x));
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// One number per picture.
struct Observed {
  std::vector<double> attempts{}, distractors{}, nonzero{}, mean_pixel{}, deviation_of_pixels{}, span_of_snake{};
  std::array<double, 6> share_with_distractors{};
};

Observed observe(const PathfinderOptions& options, int64_t pictures = kPictures) {
  const PathfinderPainter painter(options);
  Observed result;
  for (int64_t k = 0; k < pictures; ++k) {
    const PathfinderScene scene = painter.scene(kSeed, k);
    const std::vector<uint8_t> bytes = painter.paint(scene).grey.pixels;
    const std::vector<double> pixels(bytes.begin(), bytes.end());
    const auto black = static_cast<double>(std::ranges::count(bytes, 0));
    result.attempts.push_back(static_cast<double>(scene.attempts));
    result.distractors.push_back(static_cast<double>(scene.distractors.size()));
    if (scene.distractors.size() <= 5) {
      result.share_with_distractors[scene.distractors.size()] += 1 / static_cast<double>(pictures);
    }
    result.nonzero.push_back(1 - black / static_cast<double>(bytes.size()));
    result.mean_pixel.push_back(mean(pixels));
    result.deviation_of_pixels.push_back(deviation(pixels));
    for (const Snake& snake : scene.targets) result.span_of_snake.push_back(distance(snake.origin, snake.tip));
  }
  return result;
}

TEST(PathfinderImage, StatisticsOfTheStrictRuleAreThePublishedOnes) {
  const Observed seen = observe({});
  EXPECT_NEAR(mean(seen.attempts), 315, 100);
  EXPECT_NEAR(mean(seen.distractors), 1.13, 0.28);
  EXPECT_NEAR(mean(seen.nonzero), 0.339, 0.013);
  EXPECT_NEAR(deviation(seen.nonzero), 0.038, 0.009);
  EXPECT_NEAR(mean(seen.mean_pixel), 20.1, 0.8);
  EXPECT_NEAR(mean(seen.deviation_of_pixels), 51, 1.2);
  EXPECT_NEAR(mean(seen.span_of_snake), 13.4, 0.8);
  const std::array expected = {0.24, 0.45, 0.26, 0.06, 0.0, 0.0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(seen.share_with_distractors[i], expected[i], 0.14) << i;
}

TEST(PathfinderImage, StatisticsOfTheRelaxedRuleAreThePublishedOnes) {
  const Observed seen = observe({.border_rule = BorderRule::relaxed});
  EXPECT_NEAR(mean(seen.attempts), 48, 15);
  EXPECT_NEAR(mean(seen.distractors), 4.64, 0.18);
  EXPECT_NEAR(mean(seen.nonzero), 0.450, 0.009);
  EXPECT_NEAR(deviation(seen.nonzero), 0.028, 0.007);
  EXPECT_NEAR(mean(seen.mean_pixel), 27.7, 0.8);
  EXPECT_NEAR(mean(seen.deviation_of_pixels), 58, 1.2);
  EXPECT_NEAR(mean(seen.span_of_snake), 13.3, 0.8);
  const std::array expected = {0.0, 0.0, 0.0, 0.03, 0.31, 0.67};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(seen.share_with_distractors[i], expected[i], 0.15) << i;
}

TEST(PathfinderImage, SingleDashesFillThePicture) {
  const Observed seen = observe({.single_dashes = true, .border_rule = BorderRule::relaxed}, 20);
  EXPECT_NEAR(mean(seen.distractors), 285 + 4.6, 15);
  EXPECT_NEAR(mean(seen.nonzero), 0.93, 0.015);
  EXPECT_NEAR(mean(seen.mean_pixel), 96, 3);
}

TEST(PathfinderImage, BothAnswersAreEquallyFrequent) {
  const PathfinderPainter painter(PathfinderOptions{.contour_length = 3});
  double joined = 0;
  constexpr int kMany = 2000;
  for (int k = 0; k < kMany; ++k) joined += painter.scene(kSeed, k).joined ? 1.0 / kMany : 0;
  EXPECT_NEAR(joined, 0.5, 0.045);  // four standard errors
}

TEST(PathfinderImage, MarkersAreOnTheEndsThatTheAnswerNames) {
  const PathfinderPainter painter({});
  for (uint64_t k = 0; k < 100; ++k) {
    const PathfinderScene scene = painter.scene(kSeed, k);
    const auto& [one, other] = scene.targets;
    const bool first_is_one = scene.markers[0] == one.origin;
    EXPECT_TRUE(first_is_one || scene.markers[0] == other.origin);
    EXPECT_EQ(scene.markers[1], (scene.joined == first_is_one ? one : other).tip);
  }
}

TEST(PathfinderImage, TheFirstSnakeBeginsInTheMiddleAndTheSecondNearIt) {
  const PathfinderPainter painter({});
  for (uint64_t k = 0; k < 100; ++k) {
    const PathfinderScene scene = painter.scene(kSeed, k);
    const auto& [one, other] = scene.targets;
    EXPECT_GE(std::min(one.origin.y, one.origin.x), 14);
    EXPECT_LE(std::max(one.origin.y, one.origin.x), 16);
    EXPECT_NEAR(distance(one.origin, other.origin), 7, 0.75);
    for (const Snake& snake : scene.targets) EXPECT_EQ(snake.dashes.size(), 14U);
    for (const Snake& snake : scene.distractors) EXPECT_EQ(snake.dashes.size(), 4U);
  }
}

TEST(PathfinderImage, GreyGoesFromBlackToWhite) {
  const PathfinderPainter painter({});
  for (uint64_t k = 0; k < 20; ++k) {
    const auto [least, most] = std::ranges::minmax(painter.image(kSeed, k).grey.pixels);
    EXPECT_EQ(least, 0);
    EXPECT_EQ(most, 255);
  }
}

TEST(PathfinderImage, DistractorsAreBrighterThanTheSnakesInQuestion) {
  const PathfinderPainter painter({});
  double target_peaks = 0, distractor_peaks = 0, targets = 0, distractors = 0;
  for (uint64_t k = 0; k < 100; ++k) {
    const PathfinderScene scene = painter.scene(kSeed, k);
    const PathfinderImage image = painter.paint(scene);
    const auto peak = [&](const Snake& snake) {
      const PathfinderPoint at = snake.dashes[1].start;
      return static_cast<double>(image.grey.at(at.y, at.x));
    };
    for (const Snake& snake : scene.targets) target_peaks += peak(snake), ++targets;
    for (const Snake& snake : scene.distractors) distractor_peaks += peak(snake), ++distractors;
  }
  EXPECT_NEAR((distractor_peaks / distractors) / (target_peaks / targets), 4.0 / 3, 0.2);
}

TEST(PathfinderImage, APictureDependsOnItsSeedAndNumberAlone) {
  const PathfinderPainter painter({}), other({});
  const std::vector<uint8_t> picture = painter.image(7, 3).grey.pixels;
  painter.image(7, 4);
  EXPECT_EQ(other.image(7, 3).grey.pixels, picture);
  EXPECT_NE(painter.image(7, 4).grey.pixels, picture);
  EXPECT_NE(painter.image(8, 3).grey.pixels, picture);
}

}  // namespace
