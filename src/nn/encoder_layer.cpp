#include "nn/encoder_layer.h"

#include <ATen/ATen.h>

#include "nn/attention/kinds.h"
#include "nn/attention/observer.h"
#include "nn/primal_attention_arguments.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr int64_t kTokens = 1024;  // the longest time scale to begin with, if no length is known

int64_t longest_scale(const EncoderLayerOptions& o) {
  if (o.memory_tokens != 0) return o.memory_tokens;
  return o.attention.tokens > 0 ? o.attention.tokens : kTokens;
}

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
  if (auto made = make_mixing(options_.memory, options_.memory_scales, longest_scale(options_), options_.kernel, width,
                              options_.attention.causal)) {
    mixing = register_module("mixing", TokenMixing(std::move(made)));
  }
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
          .training = training,
          .mixing = mixing.is_empty() ? nullptr : mixing.get()};
}

torch::Tensor EncoderLayerImpl::cleared(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) const {
  return encoder_tokens(options_.attention.width, x, padding, !attention->sees_padding());
}

std::optional<torch::Tensor> EncoderLayerImpl::left_out(const std::optional<torch::Tensor>& padding) const {
  return attention->sees_padding() ? std::nullopt : padding;
}

AttentionResult EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderMasks& masks) {
  const EncoderParts around = parts(is_training());
  torch::Tensor tokens = around.mixing == nullptr ? x : cleared(x, masks.padding);
  std::optional<torch::Tensor> mixed;
  if (around.mixing != nullptr) mixed = attention_input(around, tokens, left_out(masks.padding));
  std::optional<torch::Tensor> instead;
  if (auto* observer = AttentionObserver::current()) {
    const torch::Tensor seen = mixed ? *mixed : attention_input(around, x, masks.padding);
    observer->saw(attention, seen, masks.padding);
    instead = observer->output_instead(attention, seen, masks.padding);
  }
  if (const PrimalAttentionImpl* primal = attention->primal(); options_.fused && primal != nullptr && !instead) {
    const auto arguments = attention_arguments(*primal, tokens, {.query_padding = masks.padding});
    if (auto result = fused_layer(around, arguments, masks.unread, mixed)) return {result->out, result->terms};
  }
  if (!mixed) tokens = cleared(x, masks.padding);
  auto [attended, terms] =
      attention->forward(mixed ? *mixed : attention_input(around, tokens, masks.padding), masks.padding);
  torch::Tensor out = behind_attention(around, tokens, instead ? *instead : attended);
  if (masks.unread) out = out.masked_fill(masks.unread->unsqueeze(-1), 0);
  return {out, terms};
}

EncoderLayerState EncoderLayerImpl::initial_state(int64_t batch) const {
  EncoderLayerState state{.attention = attention->initial_state(batch)};
  if (!mixing.is_empty()) state.mixing = mixing->initial_state(batch);
  return state;
}

torch::Tensor EncoderLayerImpl::step(const torch::Tensor& x, EncoderLayerState& state,
                                     const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens = cleared(x, padding);
  const EncoderParts around = parts(/*training=*/false);
  TokenMixingState after = state.mixing;
  const torch::Tensor seen = attention_input_step(around, tokens, after, left_out(padding));
  const torch::Tensor attended = attention->step(seen, *state.attention, padding);
  state.mixing = after;  // both are moved on, or none
  return behind_attention(around, tokens, attended);
}

}  // namespace primal::nn
