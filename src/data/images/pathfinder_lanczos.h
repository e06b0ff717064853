// Pictures made smaller with Lanczos' filter in whole numbers, bit for bit as Pillow does it.
#pragma once

#include <cstdint>
#include <vector>

namespace primal::data {

/// A square of grey values, row by row.
struct GreySquare {
  explicit GreySquare(int64_t side_) : side(side_), pixels(side_ * side_) {}

  uint8_t& at(int64_t y, int64_t x) { return pixels[y * side + x]; }
  uint8_t at(int64_t y, int64_t x) const { return pixels[y * side + x]; }

  int64_t side;
  std::vector<uint8_t> pixels;
};

/// What one output pixel takes from its neighbours: weights of the inputs from `first` on, as parts of 2^22.
struct LanczosTaps {
  int64_t first = 0;
  std::vector<int32_t> weights{};
};

/// For each of `to` outputs made of `from` inputs, to <= from.
std::vector<LanczosTaps> lanczos_taps(int64_t from, int64_t to);

/// Rows first, then columns. The values between the two passes are rounded to bytes as well, so a picture and the same
/// picture turned by 90 degrees differ.
GreySquare reduced(const GreySquare& picture, int64_t side);

}  // namespace primal::data
