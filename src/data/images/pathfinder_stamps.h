// The dashes that Pathfinder pictures are made of, drawn once for every direction they can have.
#pragma once

#include <vector>

#include "data/images/pathfinder_drawing.h"
#include "data/images/pathfinder_options.h"

namespace primal::data {

/// A dash in the middle of a small square, its first pixel in the centre.
struct PathfinderStamp {
  GreySquare line;  ///< what is painted
  GreySquare mask;  ///< what is taken: the line and the margin around it

  int64_t reach() const { return line.side / 2; }
};

PathfinderStamp pathfinder_stamp(const PathfinderOptions& options, int64_t margin, double angle);

/// A dash that a snake may begin with. Where it fits is found by laying `solid` on the picture.
struct PathfinderBeginning {
  double angle;
  PathfinderStamp stamp;
  std::vector<PathfinderPoint> solid;  ///< offsets that the dash takes entirely; one pixel off, as published
  bool covers_corners;                 ///< `solid` has a part in the picture wherever it is laid: see BorderRule
};

/// A pixel that the next dash of a snake may end at, seen from the snake's pivot.
struct PathfinderCandidate {
  PathfinderPoint offset;
  double angle;           ///< from the pivot to the pixel
  PathfinderStamp stamp;  ///< the dash from that pixel backwards
};

/// All dashes with a margin; they never change, so threads may share them.
struct PathfinderStamps {
  PathfinderStamps(const PathfinderOptions& options, int64_t margin);

  int64_t margin;
  std::vector<PathfinderPoint> around;          ///< the disc of the margin
  std::vector<PathfinderBeginning> beginnings;  ///< directions -180 .. 179 degrees
  std::vector<PathfinderCandidate> candidates;  ///< sorted by y, then x
};

/// A disc at a pixel of the picture, 0 to 255.
GreySquare pathfinder_marker(const PathfinderOptions& options, PathfinderPoint at);

}  // namespace primal::data
