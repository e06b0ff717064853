#include "data/images/pathfinder_drawing.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace primal::data {
namespace {

constexpr uint8_t kInk = 255;

void ink(GreySquare& canvas, int64_t y, int64_t x) {
  if (is_inside({y, x}, canvas.side)) canvas.at(y, x) = kInk;
}

/// Bresenham's line. In the middle between two pixels it takes the farther one.
void draw_thin_line(GreySquare& canvas, PathfinderPoint from, PathfinderPoint to) {
  const int64_t dy = std::abs(to.y - from.y), dx = std::abs(to.x - from.x);
  const int64_t step_y = to.y < from.y ? -1 : 1, step_x = to.x < from.x ? -1 : 1;
  const bool is_flat = dx > dy;
  const int64_t along = std::max(dy, dx), across = std::min(dy, dx);
  int64_t error = 2 * across - along;
  for (int64_t i = 0; i <= along; ++i) {
    ink(canvas, from.y, from.x);
    if (error >= 0 && across > 0) {
      (is_flat ? from.y : from.x) += is_flat ? step_y : step_x;
      error -= 2 * along;
    }
    error += 2 * across;
    (is_flat ? from.x : from.y) += is_flat ? step_x : step_y;
  }
}

double half_down(double value) { return value >= 0 ? std::ceil(value - 0.5) : -std::ceil(-value - 0.5); }
double half_up(double value) { return value >= 0 ? std::floor(value + 0.5) : -std::floor(-value + 0.5); }

/// The four pixels that are the corners of a wide line. An even width cannot lie evenly about the line: one side gets
/// the pixel more.
std::array<PathfinderPoint, 4> corners_of_line(PathfinderPoint from, PathfinderPoint to, int64_t width) {
  const auto dy = static_cast<double>(to.y - from.y), dx = static_cast<double>(to.x - from.x);
  const double half = static_cast<double>(width - 1) / 2, length = std::hypot(dy, dx);
  const double less = half_down(half) / length, more = half_up(half) / length;
  const PathfinderPoint one{static_cast<int64_t>(half_up(more * dx)), static_cast<int64_t>(-half_down(less * dy))};
  const PathfinderPoint other{static_cast<int64_t>(-half_up(less * dx)), static_cast<int64_t>(half_down(more * dy))};
  return {from + one, to + one, to + other, from + other};
}

/// A convex shape with its corners, row by row from its left to its right edge. An edge in the middle between two
/// pixels leaves out the outer one.
void fill(GreySquare& canvas, const std::array<PathfinderPoint, 4>& corners) {
  for (int64_t y = 0; y < canvas.side; ++y) {
    double left = static_cast<double>(canvas.side), right = -1;
    for (size_t i = 0; i < corners.size(); ++i) {
      PathfinderPoint a = corners[i], b = corners[(i + 1) % corners.size()];
      if (a.y > b.y) std::swap(a, b);
      if (y < a.y || y > b.y) continue;
      const double share = a.y == b.y ? 0 : static_cast<double>(y - a.y) / static_cast<double>(b.y - a.y);
      const double x = static_cast<double>(a.x) + share * static_cast<double>(b.x - a.x);
      left = std::min(left, x);
      right = std::max(right, x);
    }
    for (auto x = static_cast<int64_t>(half_up(left)); x <= static_cast<int64_t>(half_down(right)); ++x) {
      ink(canvas, y, x);
    }
  }
}

}  // namespace

void draw_line(GreySquare& canvas, PathfinderPoint from, PathfinderPoint to, int64_t width) {
  if (width <= 1 || from == to) {
    draw_thin_line(canvas, from, to);
  } else {
    fill(canvas, corners_of_line(from, to, width));
  }
}

std::vector<PathfinderPoint> disc(int64_t radius) {
  std::vector<PathfinderPoint> result;
  for (int64_t y = -radius; y <= radius; ++y) {
    for (int64_t x = -radius; x <= radius; ++x) {
      if (y * y + x * x <= radius * radius) result.push_back({y, x});
    }
  }
  return result;
}

GreySquare dilated(const GreySquare& canvas, int64_t radius) {
  GreySquare result(canvas.side);
  const std::vector<PathfinderPoint> around = disc(radius);
  for (int64_t y = 0; y < canvas.side; ++y) {
    for (int64_t x = 0; x < canvas.side; ++x) {
      if (canvas.at(y, x) == 0) continue;
      for (const PathfinderPoint offset : around) {
        const PathfinderPoint near = PathfinderPoint{y, x} + offset;
        if (is_inside(near, canvas.side))
          result.at(near.y, near.x) = std::max(result.at(near.y, near.x), canvas.at(y, x));
      }
    }
  }
  return result;
}

}  // namespace primal::data
