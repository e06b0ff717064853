// Pixels of a Pathfinder picture and steps between them. Angles are radians; y points down, so dy = sin, dx = cos.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <numbers>

namespace primal::data {

struct PathfinderPoint {
  int64_t y = 0, x = 0;

  auto operator<=>(const PathfinderPoint&) const = default;
  PathfinderPoint operator+(PathfinderPoint other) const { return {y + other.y, x + other.x}; }
};

/// A step of `distance`; both coordinates are rounded up, as the published generator does.
inline PathfinderPoint moved(PathfinderPoint from, double angle, double distance) {
  return {static_cast<int64_t>(std::ceil(static_cast<double>(from.y) + distance * std::sin(angle))),
          static_cast<int64_t>(std::ceil(static_cast<double>(from.x) + distance * std::cos(angle)))};
}

/// The opposite direction, of an angle between -pi and pi in the same range.
inline double turned_round(double angle) { return angle < 0 ? angle + std::numbers::pi : angle - std::numbers::pi; }

inline double radians(int64_t degrees) { return static_cast<double>(degrees) * std::numbers::pi / 180; }

/// The smaller of the two angles between directions.
inline double angle_between(double a, double b) {
  const double difference = std::fmod(std::abs(a - b), 2 * std::numbers::pi);
  return std::min(difference, 2 * std::numbers::pi - difference);
}

inline bool is_inside(PathfinderPoint point, int64_t size) {
  return point.y >= 0 && point.x >= 0 && point.y < size && point.x < size;
}

}  // namespace primal::data
