// Lines and discs on the fine canvas of a Pathfinder picture.
#pragma once

#include "data/images/pathfinder_lanczos.h"
#include "data/images/pathfinder_point.h"

namespace primal::data {

/// A line of value 255 with both ends, `width` pixels wide. What lies outside of the canvas is not drawn.
void draw_line(GreySquare& canvas, PathfinderPoint from, PathfinderPoint to, int64_t width);

/// Offsets from the centre of a disc, with its rim.
std::vector<PathfinderPoint> disc(int64_t radius);

/// Each pixel becomes the largest in the disc around it.
GreySquare dilated(const GreySquare& canvas, int64_t radius);

}  // namespace primal::data
