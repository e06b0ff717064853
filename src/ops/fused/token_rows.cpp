#include "ops/fused/token_rows.h"

#include "kernels/bfloat16.h"
#include "ops/fused/packed_matrix.h"
#include "ops/parallel.h"

namespace primal::ops::fused {

TokenRows::TokenRows(at::Tensor rows) : rows_(std::move(rows)), width_(rows_.size(-1)) {}

const uint16_t* TokenRows::bits(int64_t token) const {
  return reinterpret_cast<const uint16_t*>(rows_.const_data_ptr<at::BFloat16>()) + token * width_;
}

const float* TokenRows::read(Range tokens, TileSpace& space) const {
  if (is_plain()) return numbers(tokens.begin);
  float* wide = space.take(tokens.size(), width_);
  kernels::widen_bfloat16(bits(tokens.begin), tokens.size() * width_, wide);
  return wide;
}

const float* TokenRows::read(Range chunk, at::Tensor& space) const {
  if (is_plain()) return numbers(chunk.begin);
  if (!space.defined() || space.size(0) < chunk.size()) space = work_space({chunk.size(), width_});
  float* wide = data(space);
  parallel_for(0, chunk.size(), 64, [&](int64_t begin, int64_t end) {
    kernels::widen_bfloat16(bits(chunk.begin + begin), (end - begin) * width_, wide + begin * width_);
  });
  return wide;
}

float* TokenRows::take(Range tokens, TileSpace& space) const {
  return is_plain() ? data(rows_, tokens.begin * width_) : space.take(tokens.size(), width_);
}

void TokenRows::put(Range tokens, const float* numbers) const {
  if (is_plain()) return;
  auto* bits = reinterpret_cast<uint16_t*>(rows_.mutable_data_ptr<at::BFloat16>());
  kernels::narrow_to_bfloat16(numbers, tokens.size() * width_, bits + tokens.begin * width_);
}

}  // namespace primal::ops::fused
