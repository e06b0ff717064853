#include "data/images/pathfinder_stamps.h"

#include <algorithm>
#include <set>

namespace primal::data {
namespace {

/// The pixels that are 255 in the mask, in a patch of 2 (length + margin) + 1 pixels. The published generator lays the
/// dash into the patch one pixel below and right of its middle, and so do we.
std::vector<PathfinderPoint> solid_part(const PathfinderStamp& stamp, int64_t patch_reach) {
  std::vector<PathfinderPoint> result;
  for (int64_t y = 0; y < stamp.mask.side; ++y) {
    for (int64_t x = 0; x < stamp.mask.side; ++x) {
      const PathfinderPoint offset{y - stamp.reach() + 1, x - stamp.reach() + 1};
      const bool in_patch = std::max(std::abs(offset.y), std::abs(offset.x)) <= patch_reach;
      if (in_patch && stamp.mask.at(y, x) == 255) result.push_back(offset);
    }
  }
  return result;
}

/// Laid on a corner pixel a shape lies outside unless it has a part in the quarter that points inwards.
bool has_part_in_every_quarter(const std::vector<PathfinderPoint>& shape) {
  for (const int64_t y : {-1, 1}) {
    for (const int64_t x : {-1, 1}) {
      const bool has_part =
          std::ranges::any_of(shape, [&](PathfinderPoint part) { return part.y * y >= 0 && part.x * x >= 0; });
      if (!has_part) return false;
    }
  }
  return true;
}

/// Pixels on a circle around the pivot, 1 / radius apart in angle. Rounded down, so that the circle is a little off.
std::set<PathfinderPoint> circle_of_candidates(int64_t radius) {
  std::set<PathfinderPoint> result;
  const auto distance = static_cast<double>(radius);
  for (int64_t i = 0; static_cast<double>(i) / distance < 2 * std::numbers::pi; ++i) {
    const double angle = static_cast<double>(i) / distance;
    result.insert({static_cast<int64_t>(std::floor(distance * std::sin(angle))),
                   static_cast<int64_t>(std::floor(distance * std::cos(angle)))});
  }
  return result;
}

}  // namespace

PathfinderStamp pathfinder_stamp(const PathfinderOptions& options, int64_t margin, double angle) {
  const int64_t reach = options.dash_length + static_cast<int64_t>(std::ceil(options.thickness)) + margin;
  GreySquare canvas(2 * reach * options.fine + 1);
  const PathfinderPoint centre{reach * options.fine, reach * options.fine};
  const auto width = static_cast<int64_t>(std::lround(options.thickness * static_cast<double>(options.fine)));
  const auto length = static_cast<double>(options.dash_length * options.fine);
  draw_line(canvas, centre, moved(centre, angle, length), width);
  return {reduced(canvas, 2 * reach + 1), reduced(dilated(canvas, margin * options.fine), 2 * reach + 1)};
}

PathfinderStamps::PathfinderStamps(const PathfinderOptions& options, int64_t margin_)
    : margin(margin_), around(disc(margin_)) {
  const int64_t radius = options.dash_length + margin;
  for (int64_t degrees = -180; degrees < 180; ++degrees) {
    PathfinderStamp stamp = pathfinder_stamp(options, margin, radians(degrees));
    std::vector<PathfinderPoint> solid = solid_part(stamp, radius);
    const bool covers = has_part_in_every_quarter(solid);
    beginnings.push_back({radians(degrees), std::move(stamp), std::move(solid), covers});
  }
  for (const PathfinderPoint offset : circle_of_candidates(radius)) {
    const double angle = std::atan2(offset.y, offset.x);
    candidates.push_back({offset, angle, pathfinder_stamp(options, margin, turned_round(angle))});
  }
}

GreySquare pathfinder_marker(const PathfinderOptions& options, PathfinderPoint at) {
  GreySquare canvas(options.size * options.fine);
  const double radius = options.marker_radius * static_cast<double>(options.fine);
  const auto reach = static_cast<int64_t>(radius);
  const PathfinderPoint centre{at.y * options.fine, at.x * options.fine};
  for (int64_t y = -reach; y <= reach; ++y) {
    for (int64_t x = -reach; x <= reach; ++x) {
      const PathfinderPoint pixel = centre + PathfinderPoint{y, x};
      const bool in_disc = static_cast<double>(y * y + x * x) <= radius * radius;
      if (in_disc && is_inside(pixel, canvas.side)) canvas.at(pixel.y, pixel.x) = 255;
    }
  }
  return reduced(canvas, options.size);
}

}  // namespace primal::data
