#include "nn/encoder_layer.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "nn/attention/kinds.h"
#include "nn/attention/observer.h"
#include "nn/primal_attention_arguments.h"
#include "ops/dropout.h"
#include "ops/encoder_layer/encoder_layer.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr int64_t kRecomputedWidth = 128;  // up to there recomputing costs at most 6 % of the time

torch::nn::LayerNorm layer_norm(int64_t width) { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); }

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(EncoderLayerOptions options) : options_(std::move(options)) {
  if (options_.feed_forward < 1) {
    throw Error(c10::str("encoder_layer: feed_forward must be at least 1, got ", options_.feed_forward));
  }
  reset();
}

void EncoderLayerImpl::reset() {
  attention = make_attention(options_.attention);
  register_module("attention", attention->module());
  const int64_t width = options_.attention.width;
  linear1 = register_module("linear1", torch::nn::Linear(width, options_.feed_forward));
  linear2 = register_module("linear2", torch::nn::Linear(options_.feed_forward, width));
  norm1 = register_module("norm1", layer_norm(width));
  norm2 = register_module("norm2", layer_norm(width));
}

AttentionResult EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderMasks& masks) {
  if (auto* observer = AttentionObserver::current()) observer->saw(attention, attention_input(x), masks.padding);
  const PrimalAttentionImpl* primal = attention->primal();
  if (options_.fused && primal != nullptr && !at::autocast::is_autocast_enabled(at::kCPU)) {
    const ops::AttentionArguments arguments = attention_arguments(*primal, x, {.query_padding = masks.padding});
    if (ops::has_encoder_layer(arguments)) return fused(arguments, masks.unread);
  }
  AttentionResult result = composed(x, masks.padding);
  if (masks.unread) result.out = result.out.masked_fill(masks.unread->unsqueeze(-1), 0);
  return result;
}

AttentionResult EncoderLayerImpl::fused(const ops::AttentionArguments& arguments,
                                        const std::optional<torch::Tensor>& unread) {
  const bool drops = is_training() && options_.dropout > 0;
  const auto seed = [&] { return drops ? ops::draw_dropout_seed() : 0; };
  const int64_t width = options_.attention.width;
  ops::EncoderLayerSwitches switches{.norm_first = options_.norm_first,
                                     .activation = options_.activation == Activation::gelu ? "gelu" : "relu",
                                     .epsilon = norm1->options.eps(),
                                     .dropout = drops ? options_.dropout : 0,
                                     .recompute = options_.recompute.value_or(width <= kRecomputedWidth)};
  for (int64_t& one : switches.seeds) one = seed();
  return with_plain_errors([&]() -> AttentionResult {
    auto [out, le, lr, tr] = ops::encoder_layer(arguments,
                                                {norm1->weight, norm1->bias, norm2->weight, norm2->bias,
                                                 linear1->weight, linear1->bias, linear2->weight, linear2->bias},
                                                switches, unread);
    return {out, KsvdTerms{le, lr, tr}};
  });
}

AttentionResult EncoderLayerImpl::composed(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  check(x, padding);
  const torch::Tensor tokens = cleared(x, padding);
  auto [attended, terms] = attention->forward(attention_input(tokens), padding);
  return {behind_attention(tokens, attended, is_training()), terms};
}

torch::Tensor EncoderLayerImpl::step(const torch::Tensor& x, AttentionState& state,
                                     const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  check(x, padding);
  const torch::Tensor tokens = cleared(x, padding);
  return behind_attention(tokens, attention->step(attention_input(tokens), state, padding), /*training=*/false);
}

// NaN times the zero gradient of a padded token would reach the gradients of norms and linear maps.
torch::Tensor EncoderLayerImpl::cleared(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) const {
  return padding && !attention->sees_padding() ? x.masked_fill(padding->unsqueeze(-1), 0) : x;
}

// Residuals, norms and the feed-forward part. Only training draws dropout.
torch::Tensor EncoderLayerImpl::behind_attention(const torch::Tensor& x, const torch::Tensor& attended, bool training) {
  const auto drop = [&](const torch::Tensor& y) { return ops::dropout(y, options_.dropout, training); };
  const auto feed_forward = [&](const torch::Tensor& y) {
    const torch::Tensor inner = linear1(y);
    return drop(linear2(drop(options_.activation == Activation::gelu ? at::gelu(inner) : at::relu(inner))));
  };
  const torch::Tensor sum = x + drop(attended);
  if (options_.norm_first) return sum + feed_forward(norm2(sum));
  const torch::Tensor middle = norm1(sum);
  return norm2(middle + feed_forward(middle));
}

void EncoderLayerImpl::check(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) const {
  const int64_t width = options_.attention.width;
  if (x.dim() != 3 || x.size(2) != width) {
    throw Error(c10::str("encoder_layer: expected tokens [B, N, ", width, "], got ", x.sizes()));
  }
  if (padding && (padding->scalar_type() != at::kBool || padding->sizes() != x.sizes().slice(0, 2))) {
    throw Error(c10::str("encoder_layer: expected a bool padding mask ", x.sizes().slice(0, 2), ", got ",
                         padding->scalar_type(), " ", padding->sizes()));
  }
}

}  // namespace primal::nn
