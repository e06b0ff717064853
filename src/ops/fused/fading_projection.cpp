#include "ops/fused/fading_projection.h"

#include "ops/fused/token_rows.h"
#include "ops/moving_average/moving_average.h"
#include "ops/recycled_memory.h"

namespace primal::ops::fused {

namespace {

at::Tensor projected_alone(const AttentionPass& pass, const at::Tensor& x) {
  const AttentionShape& shape = pass.shape();
  at::Tensor result = recycled_tensor({shape.batch, shape.tokens, 2 * shape.width}, at::kFloat);
  const TokenRows input(x);
  for_each_tile({0, shape.all_tokens()}, pass.tile(), [&](Range tile, int64_t /*index*/) {
    TileSpace space;
    pass.project(input.read(tile, space), tile, data(result, tile.begin * 2 * shape.width));
  });
  return result;
}

}  // namespace

FadingProjection::FadingProjection(const AttentionPass& pass, const at::Tensor& x, const at::Tensor& kept) {
  const AttentionArguments& a = pass.arguments();
  if (a.mode.respect_padding) padding_ = a.query_padding;
  log_scale_ = a.log_scale->to(at::kDouble).repeat({2}).view({1, 1, -1});
  ones_ = at::ones({1, 1, 2 * pass.shape().width}, at::kFloat);
  alone_ = kept.defined() ? kept.to(at::kFloat).contiguous() : projected_alone(pass, x);
  sums_ = moving_average_pass({.x = alone_, .log_scale = log_scale_, .weight = ones_, .padding = padding_}).out;
}

FadingProjection::Gradients FadingProjection::backward(const at::Tensor& sums_gradient) const {
  const MovingAverageGradients g = moving_average_gradients(
      {.x = alone_, .log_scale = log_scale_, .weight = ones_, .padding = padding_}, sums_gradient, at::Tensor());
  return {g.x, g.log_scale.view({2, -1}).sum(0)};
}

}  // namespace primal::ops::fused
