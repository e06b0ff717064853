// Pathfinder pictures: two snakes among others, a marker on each of two ends; are the markers on the same snake?
#pragma once

#include <string>
#include <vector>

#include "data/images/pathfinder_scene.h"

namespace primal::data {

/// By label.
inline const std::vector<std::string> kPathfinderClasses = {"apart", "joined"};

struct PathfinderImage {
  uint8_t label = 0;   ///< of kPathfinderClasses
  int64_t margin = 0;  ///< of its dashes
  GreySquare grey;
};

/// Makes the pictures of a seed. Picture `number` depends on nothing but the options, the seed and its number.
/// Threads may share a painter.
///
///   const PathfinderPainter painter({});
///   const PathfinderImage first = painter.image(seed, 0);
class PathfinderPainter {
 public:
  /// Throws primal::Error for options that no picture can have.
  explicit PathfinderPainter(PathfinderOptions options);

  PathfinderImage image(uint64_t seed, uint64_t number) const { return paint(scene(seed, number)); }
  PathfinderScene scene(uint64_t seed, uint64_t number) const;
  PathfinderImage paint(const PathfinderScene& scene) const;

  const PathfinderOptions& options() const { return options_; }

 private:
  PathfinderOptions options_;
  std::vector<PathfinderStamps> stamps_;  // by margin
};

}  // namespace primal::data
