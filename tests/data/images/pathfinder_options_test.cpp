#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "data/images/pathfinder_image.h"
#include "support/errors.h"

namespace {

using primal::data::PathfinderOptions;
using primal::data::published_pathfinder;
using primal::tests::error_of;

TEST(PathfinderOptions, DefaultsAreTheHardSetOf32Pixels) {
  EXPECT_EQ(to_text(PathfinderOptions{}), to_text(published_pathfinder(32, 14)));
  EXPECT_EQ(to_text(PathfinderOptions{}),
            "size = 32\npadding = 1\ndash_length = 2\nthickness = 0.5\nmargins = 1\nmarker_radius = 1.5\n"
            "contour_length = 14\nfine = 2\nseed_distance = 7\ncontinuity = 1\ndistractor_length = 4\ndistractors = 5\n"
            "target_contrast = 1.5\ndistractor_contrast = 2\ndash_retries = 2\ndistractor_retries = 4\n"
            "single_dashes = false\nborder_rule = strict\n");
}

TEST(PathfinderOptions, ShorterContoursHaveShorterAndMoreDistractors) {
  EXPECT_EQ(published_pathfinder(32, 6).distractor_length, 2);
  EXPECT_EQ(published_pathfinder(32, 6).distractors, 10);
  EXPECT_EQ(published_pathfinder(32, 9).distractor_length, 3);
  EXPECT_EQ(published_pathfinder(32, 9).distractors, 6);
}

TEST(PathfinderOptions, EveryPublishedSizeHasPictures) {
  for (const int64_t size : {32, 64, 128, 256}) {
    const primal::data::PathfinderPainter painter(published_pathfinder(size, 6));
    EXPECT_EQ(painter.image(1, 0).grey.side, size);
  }
}

TEST(PathfinderOptions, PathXHasTwoMargins) {
  const PathfinderOptions options = published_pathfinder(128);
  EXPECT_EQ(options.margins, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(options.distractors, 8);
  EXPECT_EQ(options.continuity, 1.8);
}

TEST(PathfinderOptions, OtherSizesAreNotPublished) {
  EXPECT_EQ(error_of([] { published_pathfinder(48); }),
            "pathfinder: no published parameters for size 48, expected 32, 64, 128 or 256");
}

/// What is wrong with the defaults after a change.
std::string error_after(const std::function<void(PathfinderOptions&)>& change) {
  PathfinderOptions options;
  change(options);
  return error_of([&] { primal::data::PathfinderPainter{options}; });
}

TEST(PathfinderOptions, ImpossibleOnesAreRefusedWithTheirValues) {
  EXPECT_EQ(error_after([](auto& o) { o.size = 8; }), "pathfinder: size 8 is not between 16 and 1024");
  EXPECT_EQ(error_after([](auto& o) { o.padding = -1; }), "pathfinder: padding -1 is not between 0 and 15");
  EXPECT_EQ(error_after([](auto& o) { o.thickness = 0.6; }),
            "pathfinder: thickness 0.6 x 2 fine pixels per pixel is not a whole number of fine pixels");
  EXPECT_EQ(error_after([](auto& o) { o.thickness = 0; }),
            "pathfinder: thickness 0 x 2 fine pixels per pixel is not a whole number of fine pixels");
  EXPECT_EQ(error_after([](auto& o) { o.margins.clear(); }), "pathfinder: expected at least one margin, got none");
  EXPECT_EQ(error_after([](auto& o) { o.margins = {1, 0}; }), "pathfinder: margin 0 is not between 1 and 16");
  EXPECT_EQ(error_after([](auto& o) { o.dash_length = 14; }),
            "pathfinder: a dash with its margin reaches 16 pixels, too far for a size of 32");
  EXPECT_EQ(error_after([](auto& o) { o.seed_distance = 8; }),
            "pathfinder: seed distance 8 leaves no room in a size of 32, expected less than a quarter");
  EXPECT_EQ(error_after([](auto& o) { o.marker_radius = 9; }), "pathfinder: marker radius 9 is not between 0.5 and 8");
  EXPECT_EQ(error_after([](auto& o) { o.contour_length = 0; }),
            "pathfinder: contour length 0 is not between 1 and 1000");
  EXPECT_EQ(error_after([](auto& o) { o.continuity = -1; }), "pathfinder: continuity -1 is not between 0 and 100");
  EXPECT_EQ(error_after([](auto& o) { o.distractor_contrast = 0; }),
            "pathfinder: distractor contrast 0 is not between 0.01 and 100");
}

TEST(PathfinderOptions, SnakesThatFitNowhereAreAnErrorAndNoEndlessLoop) {
  const primal::data::PathfinderPainter painter(PathfinderOptions{.contour_length = 200});
  EXPECT_EQ(error_of([&] { painter.scene(1, 0); }),
            "pathfinder: two snakes of 200 dashes found no place in a picture of 32 x 32 pixels in 1000000 attempts");
}

}  // namespace
