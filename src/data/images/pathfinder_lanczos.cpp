#include "data/images/pathfinder_lanczos.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace primal::data {
namespace {

constexpr int kWeightBits = 22;  // 32 less a byte, less two bits for the overshoot of the filter
constexpr double kLobes = 3;

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double lanczos_weight(double x) { return x >= -kLobes && x < kLobes ? sinc(x) * sinc(x / kLobes) : 0; }

/// Half away from zero.
int32_t as_fixed_point(double weight) {
  return static_cast<int32_t>(weight * (1 << kWeightBits) + (weight < 0 ? -0.5 : 0.5));
}

/// The weighted sum of every step-th byte.
uint8_t filtered(const LanczosTaps& taps, const uint8_t* line, int64_t step) {
  int32_t sum = 1 << (kWeightBits - 1);  // a half: the shift below rounds
  const uint8_t* from = line + taps.first * step;
  for (const int32_t weight : taps.weights) {
    sum += weight * *from;
    from += step;
  }
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

}  // namespace

std::vector<LanczosTaps> lanczos_taps(int64_t from, int64_t to) {
  assert(to > 0 && from >= to);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = kLobes * scale;
  std::vector<LanczosTaps> result;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t t = first; t < end; ++t) {
      weights.push_back(lanczos_weight((static_cast<double>(t) - centre + 0.5) / scale));
      sum += weights.back();
    }
    LanczosTaps taps{.first = first};
    for (const double weight : weights) taps.weights.push_back(as_fixed_point(weight / sum));
    result.push_back(std::move(taps));
  }
  return result;
}

GreySquare reduced(const GreySquare& picture, int64_t side) {
  const std::vector<LanczosTaps> taps = lanczos_taps(picture.side, side);
  std::vector<uint8_t> narrow;  // [picture.side, side]
  narrow.reserve(picture.side * side);
  for (int64_t y = 0; y < picture.side; ++y) {
    for (const LanczosTaps& of : taps) narrow.push_back(filtered(of, &picture.pixels[y * picture.side], 1));
  }
  GreySquare result(side);
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) result.at(y, x) = filtered(taps[y], &narrow[x], side);
  }
  return result;
}

}  // namespace primal::data
