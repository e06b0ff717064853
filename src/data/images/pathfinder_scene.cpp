#include "data/images/pathfinder_scene.h"

#include <algorithm>

#include "base/text.h"

namespace primal::data {
namespace {

constexpr int64_t kMostAttempts = 1'000'000;  // a few hundred are usual

/// The two targets grow in turn. False if one of them finds no place; then both begin anew, elsewhere.
bool place_targets(const PathfinderOptions& options, SnakeGrower& grower, TakenPixels& taken, PathfinderScene& scene) {
  auto& [one, other] = scene.targets;
  // A frame this wide leaves room for the second snake on all sides of the first.
  std::optional<Snake> beginning = grower.begin(taken, 2 * options.seed_distance);
  if (!beginning) return false;
  one = std::move(*beginning);
  beginning = grower.begin_near(one.origin);
  if (!beginning) return false;
  other = std::move(*beginning);
  for (int64_t i = 1; i < options.contour_length; ++i) {
    if (!grower.extend(one, taken) || !grower.extend(other, taken)) return false;
  }
  taken.take(other.dashes.back());  // not that of `one`: the published generator forgets it
  return true;
}

/// A snake of `dashes` anywhere; without one if it finds no place.
void place_distractor(const PathfinderOptions& options, SnakeGrower& grower, TakenPixels& taken, int64_t dashes,
                      int64_t retries, PathfinderScene& scene) {
  constexpr int64_t kLeastShare = 100;  // a picture with less than this part of it free is full
  constexpr int64_t kFrame = 1;
  if (taken.free_pixels() * kLeastShare < options.size * options.size) return;
  for (int64_t trial = 0; trial <= retries; ++trial) {
    std::optional<Snake> snake = grower.begin(taken, kFrame);
    if (!snake) continue;
    TakenPixels with_snake = taken;
    if (!grower.extend(*snake, with_snake, dashes - 1)) continue;
    with_snake.take(snake->dashes.back());
    taken = std::move(with_snake);
    scene.distractors.push_back(std::move(*snake));
    return;
  }
}

/// The published rule: as many as would cover a picture, less those that are there.
int64_t count_of_single_dashes(const PathfinderOptions& options, int64_t margin) {
  const auto m = static_cast<double>(margin);
  const auto all = static_cast<int64_t>(150 * 123.5 / (7.5 + 13 * m + 4 * m * m));
  return std::max<int64_t>(all - 2 * options.contour_length - options.distractors * options.distractor_length, 0);
}

}  // namespace

PathfinderScene make_pathfinder_scene(const PathfinderOptions& options, const PathfinderStamps& stamps,
                                      base::Random& random) {
  PathfinderScene scene{.margin = stamps.margin, .joined = random.below(2) == 1};
  SnakeGrower grower(options, stamps, random);
  const TakenPixels empty(options.size, options.padding);
  TakenPixels taken = empty;
  for (scene.attempts = 1; !place_targets(options, grower, taken, scene); ++scene.attempts) {
    if (scene.attempts == kMostAttempts) {
      base::fail("pathfinder", "two snakes of ", options.contour_length, " dashes found no place in a picture of ",
                 options.size, " x ", options.size, " pixels in ", kMostAttempts, " attempts");
    }
    taken = empty;
  }
  for (int64_t i = 0; i < options.distractors; ++i) {
    place_distractor(options, grower, taken, options.distractor_length, options.distractor_retries, scene);
  }
  const int64_t singles = options.single_dashes ? count_of_single_dashes(options, stamps.margin) : 0;
  for (int64_t i = 0; i < singles; ++i) place_distractor(options, grower, taken, 1, options.dash_retries, scene);
  const uint64_t which = random.below(2);
  scene.markers = {scene.targets[which].origin, scene.targets[scene.joined ? which : 1 - which].tip};
  return scene;
}

}  // namespace primal::data
