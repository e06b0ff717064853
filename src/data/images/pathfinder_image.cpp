#include "data/images/pathfinder_image.h"

#include <algorithm>

namespace primal::data {
namespace {

constexpr uint64_t kPathfinderChances = 0x50617468;  // what base::Random::numbered() keeps apart from other purposes

/// Bright where any of what is painted is, in 255ths of the contrast 1.
class BrightCanvas {
 public:
  explicit BrightCanvas(int64_t size) : size_(size), values_(size * size) {}

  void paint(const Snake& snake, double contrast) {
    for (const PlacedDash& dash : snake.dashes) {
      const int64_t reach = dash.stamp->reach();
      paint(dash.stamp->line, {dash.start.y - reach, dash.start.x - reach}, contrast);
    }
  }

  void paint(const GreySquare& stamp, PathfinderPoint corner, double contrast) {
    for (int64_t y = 0; y < stamp.side; ++y) {
      for (int64_t x = 0; x < stamp.side; ++x) {
        const PathfinderPoint here = corner + PathfinderPoint{y, x};
        if (!is_inside(here, size_)) continue;
        double& value = values_[here.y * size_ + here.x];
        value = std::max(value, stamp.at(y, x) * contrast);
      }
    }
  }

  /// From black to white, whatever the contrasts are.
  GreySquare stretched() const {
    const auto [least, most] = std::ranges::minmax(values_);
    GreySquare result(size_);
    std::ranges::transform(values_, result.pixels.begin(), [&, low = least, range = most - least](double value) {
      return static_cast<uint8_t>((value - low) * 255 / range + 0.5);
    });
    return result;
  }

 private:
  int64_t size_;
  std::vector<double> values_;
};

}  // namespace

PathfinderPainter::PathfinderPainter(PathfinderOptions options) : options_(std::move(options)) {
  check(options_);
  for (const int64_t margin : options_.margins) stamps_.emplace_back(options_, margin);
}

PathfinderScene PathfinderPainter::scene(uint64_t seed, uint64_t number) const {
  base::Random random = base::Random::numbered(seed, kPathfinderChances, number);
  return make_pathfinder_scene(options_, stamps_[random.below(stamps_.size())], random);
}

PathfinderImage PathfinderPainter::paint(const PathfinderScene& scene) const {
  BrightCanvas canvas(options_.size);
  for (const Snake& target : scene.targets) canvas.paint(target, options_.target_contrast);
  for (const Snake& distractor : scene.distractors) canvas.paint(distractor, options_.distractor_contrast);
  for (const PathfinderPoint marker : scene.markers) canvas.paint(pathfinder_marker(options_, marker), {}, 1);
  return {.label = static_cast<uint8_t>(scene.joined), .margin = scene.margin, .grey = canvas.stretched()};
}

}  // namespace primal::data
