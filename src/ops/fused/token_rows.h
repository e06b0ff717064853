// The rows of a float32 or bfloat16 tensor, read and written as float32: in place, or through work space.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/fused/tile_space.h"
#include "ops/fused/tiles.h"

namespace primal::ops::fused {

class TokenRows {
 public:
  /// rows: dense; the last dimension is a row.
  explicit TokenRows(at::Tensor rows);

  const float* read(Range tokens, TileSpace& space) const;
  /// The same into a tensor that is made when it is needed first, for a chunk, in parallel.
  const float* read(Range chunk, at::Tensor& space) const;

  /// Where to write the numbers of these tokens; put() brings them to the tensor if that is somewhere else.
  float* take(Range tokens, TileSpace& space) const;
  void put(Range tokens, const float* numbers) const;

 private:
  bool is_plain() const { return rows_.scalar_type() == at::kFloat; }
  const float* numbers(int64_t token) const { return rows_.const_data_ptr<float>() + token * width_; }
  const uint16_t* bits(int64_t token) const;

  at::Tensor rows_;
  int64_t width_;
};

}  // namespace primal::ops::fused
