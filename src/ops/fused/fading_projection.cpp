#include "ops/fused/fading_projection.h"

#include <ATen/ATen.h>

#include "ops/moving_average/moving_average.h"

namespace primal::ops::fused {

FadingProjection::FadingProjection(const AttentionArguments& a, at::Tensor alone)
    : padding_(a.left_out()),
      log_scale_(a.log_scale->to(at::kDouble).repeat({2}).view({1, 1, -1})),
      ones_(at::ones({1, 1, alone.size(2)}, at::kFloat)),
      alone_(std::move(alone)),
      sums_(moving_average_pass({.x = alone_, .log_scale = log_scale_, .weight = ones_, .padding = padding_}).out) {}

FadingProjection::Gradients FadingProjection::backward(const at::Tensor& sums_gradient) const {
  const MovingAverageGradients g = moving_average_gradients(
      {.x = alone_, .log_scale = log_scale_, .weight = ones_, .padding = padding_}, sums_gradient, at::Tensor());
  return {g.x, g.log_scale.view({2, -1}).sum(0)};
}

}  // namespace primal::ops::fused
