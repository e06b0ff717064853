#include "train/distil/shifted_projections.h"

#include <ATen/ATen.h>

#include <cmath>

namespace primal::train {

namespace {

using at::Tensor;

// Of each head the direction in which queries and keys are least, of length 1. [D]
Tensor quiet_direction(const PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples) {
  const int64_t heads = layer.options().heads, d = layer.options().width / heads;
  Tensor sum = at::zeros({heads, d, d}, at::kDouble);
  for (const LayerSample& sample : samples) {
    const Tensor x = real_rows(sample, sample.x);
    for (const auto& linear : {layer.q_proj, layer.k_proj}) {
      const Tensor rows = at::linear(x, linear->weight, linear->bias).view({-1, heads, d}).transpose(0, 1);
      const Tensor precise = rows.to(at::kDouble);
      sum += at::matmul(precise.transpose(1, 2), precise);
    }
  }
  return std::get<1>(at::linalg_eigh(sum)).select(2, 0).reshape({heads * d});
}

}  // namespace

ShiftedProjections::ShiftedProjections(const PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples) {
  if (!layer.q_proj->bias.defined()) return;
  const at::NoGradGuard no_grad;
  q_bias_ = layer.q_proj->bias.clone();
  k_bias_ = layer.k_proj->bias.clone();
  const int64_t d = layer.options().width / layer.options().heads;
  direction_ = std::pow(static_cast<double>(d), 0.25) * quiet_direction(layer, samples);
}

void ShiftedProjections::shift(PrimalAttentionImpl& layer, double size) const {
  const at::NoGradGuard no_grad;
  layer.q_proj->bias.copy_(q_bias_ + size * direction_);
  layer.k_proj->bias.copy_(k_bias_ + size * direction_);
}

}  // namespace primal::train
