#include "data/images/pathfinder_snakes.h"

#include <algorithm>

namespace primal::data {
namespace {

/// Calls work(pixel of the picture, pixel of the stamp) for the part of a stamp that is inside the picture, until work
/// returns false. Returns whether it never did.
template <typename Work>
bool for_pixels_of(const PlacedDash& dash, int64_t size, const Work& work) {
  const int64_t reach = dash.stamp->reach();
  const int64_t top = std::max<int64_t>(dash.start.y - reach, 0), left = std::max<int64_t>(dash.start.x - reach, 0);
  const int64_t bottom = std::min(dash.start.y + reach, size - 1), right = std::min(dash.start.x + reach, size - 1);
  for (int64_t y = top; y <= bottom; ++y) {
    for (int64_t x = left; x <= right; ++x) {
      if (!work(PathfinderPoint{y, x}, PathfinderPoint{y - dash.start.y + reach, x - dash.start.x + reach}))
        return false;
    }
  }
  return true;
}

}  // namespace

TakenPixels::TakenPixels(int64_t size, int64_t padding) : taken_(size) {
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const int64_t to_border = std::min({y, x, size - 1 - y, size - 1 - x});
      if (to_border < padding) taken_.at(y, x) = 255;
    }
  }
}

void TakenPixels::take(const PlacedDash& dash) {
  for_pixels_of(dash, size(), [&](PathfinderPoint here, PathfinderPoint in_stamp) {
    uint8_t& value = taken_.at(here.y, here.x);
    value = std::max(value, dash.stamp->mask.at(in_stamp.y, in_stamp.x));
    return true;
  });
}

bool TakenPixels::has_room_for(const PlacedDash& dash) const {
  constexpr int kTooMuch = 459;  // 1.8 of 255
  return for_pixels_of(dash, size(), [&](PathfinderPoint here, PathfinderPoint in_stamp) {
    return taken_.at(here.y, here.x) + dash.stamp->mask.at(in_stamp.y, in_stamp.x) < kTooMuch;
  });
}

uint8_t TakenPixels::most_around(PathfinderPoint point, const std::vector<PathfinderPoint>& offsets) const {
  uint8_t most = 0;
  for (const PathfinderPoint offset : offsets) {
    const PathfinderPoint near = point + offset;
    if (is_inside(near, size())) most = std::max(most, taken_.at(near.y, near.x));
  }
  return most;
}

int64_t TakenPixels::free_pixels() const {
  return std::ranges::count_if(taken_.pixels, [](uint8_t value) { return value <= kMostOfFree; });
}

std::optional<Snake> SnakeGrower::snake_of(PathfinderPoint start, const PathfinderBeginning& beginning) const {
  const double angle = beginning.angle;
  const PathfinderPoint tip = moved(start, angle, static_cast<double>(options_.dash_length));
  const auto back = static_cast<double>(options_.dash_length + stamps_.margin);
  const PathfinderPoint pivot = moved(tip, angle + std::numbers::pi, back);
  if (!is_inside(tip, options_.size) || !is_inside(pivot, options_.size)) return std::nullopt;
  return Snake{.dashes = {{start, &beginning.stamp}}, .origin = start, .tip = tip, .pivot = pivot, .angle = angle};
}

/// Whether a beginning laid on `start` touches nothing that is taken and no pixel of the frame. What lies outside of
/// the picture does not matter: with the strict rule something always lies inside.
bool SnakeGrower::is_free_start(PathfinderPoint start, const PathfinderBeginning& beginning, const TakenPixels& taken,
                                int64_t frame) const {
  const int64_t end = taken.size() - frame;
  return std::ranges::none_of(beginning.solid, [&](PathfinderPoint offset) {
    const PathfinderPoint part = start + offset;
    if (!is_inside(part, taken.size())) return false;
    const bool in_frame = part.y < frame || part.x < frame || part.y >= end || part.x >= end;
    return in_frame || !taken.is_free(part);
  });
}

std::optional<PathfinderPoint> SnakeGrower::free_start(const PathfinderBeginning& beginning, const TakenPixels& taken,
                                                       int64_t frame) {
  const int64_t size = taken.size(), reach = options_.dash_length + stamps_.margin;
  const bool by_strict_rule = options_.border_rule == BorderRule::strict;
  const int64_t first = by_strict_rule ? std::max<int64_t>(frame - reach, 0) : 0;  // nearer to the border none is free
  const auto side = static_cast<uint64_t>(size - 2 * first);
  // Most are free in a large picture, and a few draws save a look at all of them. Both ways all have the same chance.
  constexpr int kDraws = 16;
  for (int i = 0; i < kDraws; ++i) {
    const auto y = static_cast<int64_t>(random_.below(side)), x = static_cast<int64_t>(random_.below(side));
    const PathfinderPoint start{first + y, first + x};
    if (is_free_start(start, beginning, taken, frame)) return start;
  }
  std::vector<PathfinderPoint> starts;
  for (int64_t y = first; y < size - first; ++y) {
    for (int64_t x = first; x < size - first; ++x) {
      if (is_free_start({y, x}, beginning, taken, frame)) starts.push_back({y, x});
    }
  }
  if (starts.empty()) return std::nullopt;
  return starts[random_.below(starts.size())];
}

std::optional<Snake> SnakeGrower::begin(const TakenPixels& taken, int64_t frame) {
  for (int64_t trial = 0; trial <= options_.dash_retries; ++trial) {
    const PathfinderBeginning& beginning = any_beginning();
    if (options_.border_rule == BorderRule::strict && !beginning.covers_corners) return std::nullopt;
    const std::optional<PathfinderPoint> start = free_start(beginning, taken, frame);
    if (!start) return std::nullopt;
    if (std::optional<Snake> snake = snake_of(*start, beginning)) return snake;
  }
  return std::nullopt;
}

std::optional<Snake> SnakeGrower::begin_near(PathfinderPoint origin) {
  const auto distance = static_cast<double>(options_.seed_distance);
  for (int64_t trial = 0; trial <= options_.dash_retries; ++trial) {
    const PathfinderBeginning& beginning = any_beginning();
    const double direction = any_beginning().angle;
    // nearbyint rounds halves to even, as the published generator does.
    const PathfinderPoint start{
        static_cast<int64_t>(std::nearbyint(static_cast<double>(origin.y) + distance * std::sin(direction))),
        static_cast<int64_t>(std::nearbyint(static_cast<double>(origin.x) + distance * std::cos(direction)))};
    if (std::optional<Snake> snake = snake_of(start, beginning)) return snake;
  }
  return std::nullopt;
}

/// For every candidate the sum of the chances up to it: sharp turns and pixels that are taken are avoided.
std::vector<double> SnakeGrower::summed_chances(const Snake& snake, PathfinderPoint pivot,
                                                const TakenPixels& taken) const {
  std::vector<double> result;
  result.reserve(stamps_.candidates.size());
  double sum = 0;
  for (const PathfinderCandidate& candidate : stamps_.candidates) {
    const PathfinderPoint at = pivot + candidate.offset;
    const double turn = options_.continuity * angle_between(candidate.angle, snake.angle);
    if (is_inside(at, taken.size()) && turn < std::numbers::pi / 2) {
      sum += std::pow(std::cos(turn), 2) * (1 - taken.most_around(at, stamps_.around) / 255.0);
    }
    result.push_back(sum);
  }
  return result;
}

bool SnakeGrower::extend(Snake& snake, TakenPixels& taken) {
  constexpr double kLeastChance = 1e-4;
  const auto step = static_cast<double>(options_.dash_length + 2 * stamps_.margin);
  const PathfinderPoint pivot = moved(snake.pivot, snake.angle, step);
  const std::vector<double> chances = summed_chances(snake, pivot, taken);
  if (chances.back() < kLeastChance) return false;
  for (int64_t trial = 0; trial <= options_.dash_retries; ++trial) {
    const auto drawn = std::ranges::upper_bound(chances, random_.uniform() * chances.back());
    const PathfinderCandidate& candidate = stamps_.candidates[drawn - chances.begin()];
    const PlacedDash dash{pivot + candidate.offset, &candidate.stamp};
    if (!taken.has_room_for(dash)) continue;
    taken.take(snake.dashes.back());
    snake.dashes.push_back(dash);
    snake.tip = dash.start;
    snake.pivot = pivot;
    snake.angle = candidate.angle;
    return true;
  }
  return false;
}

bool SnakeGrower::extend(Snake& snake, TakenPixels& taken, int64_t dashes) {
  for (int64_t i = 0; i < dashes; ++i) {
    if (!extend(snake, taken)) return false;
  }
  return true;
}

}  // namespace primal::data
