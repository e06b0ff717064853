// What is on a Pathfinder picture and where.
#pragma once

#include <array>
#include <vector>

#include "data/images/pathfinder_snakes.h"

namespace primal::data {

struct PathfinderScene {
  int64_t margin = 0;                        ///< of its dashes
  bool joined = false;                       ///< the answer: both markers are on the same snake
  std::array<Snake, 2> targets{};            ///< the two snakes in question
  std::vector<Snake> distractors{};          ///< and single dashes, if there are any
  std::array<PathfinderPoint, 2> markers{};  ///< at the beginning of one target and the tip of this or the other
  int64_t attempts = 0;                      ///< until the targets had a place
};

/// Places everything, by chance. Throws primal::Error if the two targets do not fit in a million attempts: such
/// options have no pictures.
PathfinderScene make_pathfinder_scene(const PathfinderOptions& options, const PathfinderStamps& stamps,
                                      base::Random& random);

}  // namespace primal::data
