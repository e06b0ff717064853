#include "nn/encoder_layer.h"

#include <ATen/ATen.h>

#include "nn/attention/kinds.h"
#include "nn/attention/observer.h"
#include "nn/primal_attention_arguments.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

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

EncoderParts EncoderLayerImpl::parts(bool training) {
  return {.linear1 = linear1,
          .linear2 = linear2,
          .norm1 = norm1,
          .norm2 = norm2,
          .dropout = options_.dropout,
          .norm_first = options_.norm_first,
          .activation = options_.activation,
          .recompute = options_.recompute,
          .training = training};
}

AttentionResult EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderMasks& masks) {
  const EncoderParts around = parts(is_training());
  if (auto* observer = AttentionObserver::current())
    observer->saw(attention, attention_input(around, x), masks.padding);
  if (const PrimalAttentionImpl* primal = attention->primal(); options_.fused && primal != nullptr) {
    const auto arguments = attention_arguments(*primal, x, {.query_padding = masks.padding});
    if (auto result = fused_layer(around, arguments, masks.unread)) return {result->out, result->terms};
  }
  AttentionResult result = composed(around, x, masks.padding);
  if (masks.unread) result.out = result.out.masked_fill(masks.unread->unsqueeze(-1), 0);
  return result;
}

AttentionResult EncoderLayerImpl::composed(const EncoderParts& around, const torch::Tensor& x,
                                           const std::optional<torch::Tensor>& padding) {
  const torch::Tensor tokens = encoder_tokens(options_.attention.width, x, padding, !attention->sees_padding());
  auto [attended, terms] = attention->forward(attention_input(around, tokens), padding);
  return {behind_attention(around, tokens, attended), terms};
}

torch::Tensor EncoderLayerImpl::step(const torch::Tensor& x, AttentionState& state,
                                     const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = encoder_tokens(options_.attention.width, x, padding, !attention->sees_padding());
  const EncoderParts around = parts(/*training=*/false);
  return behind_attention(around, tokens, attention->step(attention_input(around, tokens), state, padding));
}

}  // namespace primal::nn
