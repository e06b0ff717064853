#include "ops/fused/encoder_pass.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kernels/dropout.h"
#include "kernels/head_scores.h"
#include "kernels/layer_norm.h"
#include "ops/running_mean.h"

namespace primal::ops::fused {

namespace {

EncoderLayerArguments dense(EncoderLayerArguments a) {
  for (at::Tensor* tensor : {&a.attention.query, &a.norm1.weight, &a.norm1.bias, &a.norm2.weight, &a.norm2.bias,
                             &a.linear1_weight, &a.linear1_bias, &a.linear2_weight, &a.linear2_bias}) {
    *tensor = tensor->contiguous();
  }
  if (a.attended) a.attended = a.attended->contiguous();
  return a;
}

// Running means are taken of what the attention sees, all tokens before the first tile: what sees such means needs no
// other token, so that the rest is the pass of an attention that is not causal.
EncoderLayerArguments with_means(EncoderLayerArguments a) {
  if (!a.attention.averages_tokens()) return a;
  const at::Tensor& x = a.attention.query;
  at::Tensor seen = a.attended.value_or(x);
  if (a.norms_before_attention()) {
    const int64_t width = x.size(2), tokens = x.size(0) * x.size(1);
    seen = work_space(x.sizes());
    for_each_tile({0, tokens}, tile_tokens(width, tokens), [&](Range tile, int64_t /*index*/) {
      kernels::layer_norm(x.const_data_ptr<float>() + tile.begin * width,
                          {tile.size(), width, static_cast<float>(a.epsilon)}, a.norm1.weight.const_data_ptr<float>(),
                          a.norm1.bias.const_data_ptr<float>(), data(seen, tile.begin * width));
    });
  }
  a.attended = running_mean(seen, a.attention.left_out());
  return a;
}

// f(X): the rows of what the attention sees, after the norm if that comes first.
at::Tensor attended_rows(const EncoderLayerArguments& a, const SampledRows& sampled) {
  if (!a.norms_before_attention() || !sampled.rows.defined()) return sampled.rows;
  at::Tensor rows = at::empty_like(sampled.rows);
  kernels::layer_norm(
      sampled.rows.const_data_ptr<float>(), {rows.size(0) * rows.size(1), rows.size(2), static_cast<float>(a.epsilon)},
      a.norm1.weight.const_data_ptr<float>(), a.norm1.bias.const_data_ptr<float>(), rows.mutable_data_ptr<float>());
  return sampled.without_empty(rows);
}

}  // namespace

int64_t kept_numbers(const EncoderLayerArguments& a) {
  return (a.norm_first ? 3 : 4) * a.attention.query.size(2) + a.linear1_weight.size(0);
}

KeptTokens KeptTokens::from(int64_t token, int64_t row, const EncoderLayerArguments& a) const {
  const int64_t width = a.attention.query.size(2);
  return {projected + token * 2 * width, after_first + row * width, inner + row * a.linear1_weight.size(0),
          after_second == nullptr ? nullptr : after_second + row * width};
}

KeptTokens kept_tokens(const EncoderLayerArguments& a, float* data, int64_t tokens) {
  const int64_t width = a.attention.query.size(2);
  float* inner = data + tokens * 3 * width;
  return {data, data + tokens * 2 * width, inner, a.norm_first ? nullptr : inner + tokens * a.linear1_weight.size(0)};
}

EncoderPass::EncoderPass(const EncoderLayerArguments& arguments, bool forward)
    : a_(with_means(dense(arguments))),
      sampled_(a_.attention, a_.attended ? *a_.attended : a_.attention.query),
      rows_(attended_rows(a_, sampled_)),
      attention_(a_.attention, rows_, forward, a_.unread) {
  if (!forward) return;
  linear1_ = PackedMatrix::of_weight(a_.linear1_weight, /*transposed=*/true);
  linear2_ = PackedMatrix::of_weight(a_.linear2_weight, /*transposed=*/true);
}

const float* EncoderPass::cleared(const float* x, Range tile, TileSpace& space) const {
  const TokenMask& mask = attention_.mask();
  if (!mask.respect || !mask.any(tile)) return x;
  const int64_t width = attention_.shape().width;
  float* rows = space.take(tile.size(), width);
  std::copy_n(x, tile.size() * width, rows);
  mask.clear(tile, width, rows);
  return rows;
}

void EncoderPass::norm(const LayerNormWeights& weights, const float* x, int64_t rows, float* out) const {
  kernels::layer_norm(x, {rows, attention_.shape().width, static_cast<float>(a_.epsilon)},
                      weights.weight.const_data_ptr<float>(), weights.bias.const_data_ptr<float>(), out);
}

void EncoderPass::drop(int which, Range tile, int64_t width, float* x) const {
  if (a_.dropout == 0) return;
  const auto threshold = static_cast<uint32_t>(std::lround(a_.dropout * 4294967296.0));
  read().for_each_run(tile, [&](Range run, int64_t row) {
    kernels::dropout(x + row * width, x + row * width, run.size() * width, a_.seeds[static_cast<size_t>(which)],
                     run.begin * width, threshold, static_cast<float>(1 / (1 - a_.dropout)));
  });
}

const float* EncoderPass::attended(const float* x, Range tile, float* normed) const {
  if (a_.attended) return a_.attended->const_data_ptr<float>() + tile.begin * attention_.shape().width;
  if (!a_.norm_first) return x;
  norm(a_.norm1, x, tile.size(), normed);
  return normed;
}

void EncoderPass::project(const float* x, Range tile, float* projected) const {
  TileSpace space;
  float* normed = a_.norms_before_attention() ? space.take(tile.size(), attention_.shape().width) : nullptr;
  attention_.project(attended(x, tile, normed), tile, projected);
}

void EncoderPass::forward(const float* x, Range tile, const KeptTokens& kept, float* le, float* lr, float* out) const {
  const AttentionShape& shape = attention_.shape();
  const int64_t width = shape.width, rows = read().rows(tile).size(), inner_width = this->inner_width();
  TileSpace space;
  float* middle = space.take(tile.size(), width);  // what the feed-forward part sees
  float* inverse = space.take(tile.size(), 2 * shape.heads);
  float* scores = space.take(tile.size(), shape.scores());
  attention_.scores(kept.projected, tile, inverse, scores);
  if (le != nullptr) attention_.squares(scores, tile, le, lr);
  const float* input = x;
  float* result = a_.norm_first ? out : kept.after_second;
  if (!read().all()) {
    read().gather(tile, shape.scores(), scores, scores);
    float* gathered = space.take(rows, width);
    read().gather(tile, width, x, gathered);
    input = gathered;
    if (a_.norm_first) result = space.take(rows, width);
  }
  attention_.output(scores, tile, kept.after_first);
  drop(0, tile, width, kept.after_first);
  kernels::add(input, rows * width, kept.after_first);

  norm(a_.norm_first ? a_.norm2 : a_.norm1, kept.after_first, rows, middle);
  linear1_.multiply({middle, width}, rows,
                    {.data = kept.inner, .row_stride = inner_width, .bias = a_.linear1_bias.const_data_ptr<float>()});
  if (out == nullptr && a_.norm_first) return;
  float* activated = space.take(rows, inner_width);
  kernels::activate(a_.activation, kept.inner, rows * inner_width, activated);
  drop(1, tile, inner_width, activated);
  linear2_.multiply({activated, inner_width}, rows,
                    {.data = result, .row_stride = width, .bias = a_.linear2_bias.const_data_ptr<float>()});
  drop(2, tile, width, result);
  kernels::add(a_.norm_first ? kept.after_first : middle, rows * width, result);
  if (out == nullptr) return;
  if (read().all()) {
    if (!a_.norm_first) norm(a_.norm2, result, rows, out);
    return;
  }
  if (!a_.norm_first) norm(a_.norm2, result, rows, middle);
  read().scatter(tile, width, a_.norm_first ? result : middle, out);
}

}  // namespace primal::ops::fused
