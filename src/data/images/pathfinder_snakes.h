// Snakes: rows of dashes that turn a little from one to the next and keep away from each other.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "data/images/pathfinder_stamps.h"

namespace primal::data {

struct PlacedDash {
  PathfinderPoint start;
  const PathfinderStamp* stamp = nullptr;  ///< of the PathfinderStamps it was placed with
};

/// How much of each pixel is taken by dashes and their margins, 0 to 255.
class TakenPixels {
 public:
  /// The border of `padding` pixels is taken.
  TakenPixels(int64_t size, int64_t padding);

  int64_t size() const { return taken_.side; }
  void take(const PlacedDash& dash);
  /// Whether a dash overlaps what is taken by less than most of a pixel.
  bool has_room_for(const PlacedDash& dash) const;
  /// The largest of the pixels at `offsets` from a point of the picture.
  uint8_t most_around(PathfinderPoint point, const std::vector<PathfinderPoint>& offsets) const;
  /// A little of the blurred rim of a dash does not count.
  bool is_free(PathfinderPoint point) const { return taken_.at(point.y, point.x) <= kMostOfFree; }
  int64_t free_pixels() const;

 private:
  static constexpr uint8_t kMostOfFree = 76;  // 0.3 of 255

  GreySquare taken_;
};

struct Snake {
  std::vector<PlacedDash> dashes{};
  PathfinderPoint origin{};  ///< where its first dash begins
  PathfinderPoint tip{};     ///< the far end of its last dash
  PathfinderPoint pivot{};   ///< what the last dash turns about
  double angle = 0;          ///< of the last dash
};

/// Grows the snakes of one picture. The last dash of a snake is not taken yet, or the next one would have no room:
/// extend() takes it when the next is placed.
class SnakeGrower {
 public:
  SnakeGrower(const PathfinderOptions& options, const PathfinderStamps& stamps, base::Random& random)
      : options_(options), stamps_(stamps), random_(random) {}

  /// A snake of one dash on free pixels, at least `frame` pixels away from the border; nothing if the attempt fails.
  std::optional<Snake> begin(const TakenPixels& taken, int64_t frame);
  /// A snake of one dash that begins at the seed distance from `origin`. What is taken does not matter.
  std::optional<Snake> begin_near(PathfinderPoint origin);
  /// One dash more. False if none fits.
  bool extend(Snake& snake, TakenPixels& taken);
  /// `dashes` more.
  bool extend(Snake& snake, TakenPixels& taken, int64_t dashes);

 private:
  const PathfinderBeginning& any_beginning() { return stamps_.beginnings[random_.below(stamps_.beginnings.size())]; }
  std::optional<Snake> snake_of(PathfinderPoint start, const PathfinderBeginning& beginning) const;
  bool is_free_start(PathfinderPoint start, const PathfinderBeginning& beginning, const TakenPixels& taken,
                     int64_t frame) const;
  std::optional<PathfinderPoint> free_start(const PathfinderBeginning& beginning, const TakenPixels& taken,
                                            int64_t frame);
  std::vector<double> summed_chances(const Snake& snake, PathfinderPoint pivot, const TakenPixels& taken) const;

  const PathfinderOptions& options_;
  const PathfinderStamps& stamps_;
  base::Random& random_;
};

}  // namespace primal::data
