#include <ATen/ATen.h>

#include <ostream>

#include "nn/encoder_parts.h"
#include "nn/primal_attention_arguments.h"
#include "primal/encoder_layer.h"

namespace primal {

namespace {

void check(const EncoderLayerOptions& options) {
  if (options.feed_forward < 1) {
    throw Error(c10::str("encoder_layer: feed_forward must be at least 1, got ", options.feed_forward));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error(c10::str("encoder_layer: dropout must be in [0, 1), got ", options.dropout));
  }
}

nn::EncoderParts parts_of(EncoderLayerImpl& layer, bool training) {
  const EncoderLayerOptions& o = layer.options();
  return {.linear1 = layer.linear1,
          .linear2 = layer.linear2,
          .norm1 = layer.norm1,
          .norm2 = layer.norm2,
          .dropout = o.dropout,
          .norm_first = o.norm_first,
          .activation = o.activation,
          .recompute = o.recompute,
          .training = training};
}

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(EncoderLayerOptions options) : options_(std::move(options)) {
  check(options_);
  reset();
}

void EncoderLayerImpl::reset() {
  const int64_t width = options_.attention.width;
  const auto norm = [&] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); };
  attention = register_module("attention", PrimalAttention(options_.attention));
  linear1 = register_module("linear1", torch::nn::Linear(width, options_.feed_forward));
  linear2 = register_module("linear2", torch::nn::Linear(options_.feed_forward, width));
  norm1 = register_module("norm1", norm());
  norm2 = register_module("norm2", norm());
}

void EncoderLayerImpl::reset_parameters() {
  attention->reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}

AttentionOutput EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderLayerInputs& inputs) {
  const nn::EncoderParts parts = parts_of(*this, is_training());
  const auto arguments = nn::attention_arguments(*attention, x, {.query_padding = inputs.padding});
  if (auto result = nn::fused_layer(parts, arguments, inputs.unread)) return *result;
  const torch::Tensor tokens =
      nn::encoder_tokens(options_.attention.width, x, inputs.padding, options_.attention.padding == Padding::respect);
  auto [attended, terms] = attention->forward(nn::attention_input(parts, tokens), {.query_padding = inputs.padding});
  torch::Tensor out = nn::behind_attention(parts, tokens, attended);
  if (inputs.unread) out = out.masked_fill(inputs.unread->unsqueeze(-1), 0);
  return {out, terms};
}

State EncoderLayerImpl::initial_state(int64_t batch) const {
  if (!options_.attention.causal) throw Error("encoder_layer: only a causal layer has a state");
  return attention->initial_state(batch);
}

torch::Tensor EncoderLayerImpl::step(const torch::Tensor& x, State& state,
                                     const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor tokens =
      nn::encoder_tokens(options_.attention.width, x, padding, options_.attention.padding == Padding::respect);
  const nn::EncoderParts parts = parts_of(*this, /*training=*/false);
  return nn::behind_attention(parts, tokens, attention->step(nn::attention_input(parts, tokens), state, padding));
}

void EncoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << "primal::EncoderLayer(feed_forward=" << options_.feed_forward << ", dropout=" << options_.dropout
         << ", norm_first=" << (options_.norm_first ? "true" : "false")
         << ", activation=" << (options_.activation == Activation::gelu ? "gelu" : "relu") << ")";
}

}  // namespace primal
