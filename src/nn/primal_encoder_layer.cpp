#include <ATen/ATen.h>

#include <ostream>

#include "nn/encoder_parts.h"
#include "nn/primal_attention_arguments.h"
#include "nn/token_mixing.h"
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
          .training = training,
          .mixing = layer.mixing.get()};
}

std::optional<torch::Tensor> left_out_by(const EncoderLayerOptions& options,
                                         const std::optional<torch::Tensor>& padding) {
  return options.attention.padding == Padding::respect ? padding : std::nullopt;
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
  mixing = nn::make_mixing(options_.memory, options_.memory_scales, options_.memory_tokens, options_.kernel, width,
                           options_.attention.causal);
  if (mixing) register_module("mixing", mixing);
}

void EncoderLayerImpl::reset_parameters() {
  attention->reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  if (mixing) mixing->reset_parameters();
}

AttentionOutput EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderLayerInputs& inputs) {
  const nn::EncoderParts parts = parts_of(*this, is_training());
  const std::optional<torch::Tensor> left_out = left_out_by(options_, inputs.padding);
  const auto cleared = [&] {
    return nn::encoder_tokens(options_.attention.width, x, inputs.padding, left_out.has_value());
  };
  torch::Tensor tokens = mixing ? cleared() : x;
  std::optional<torch::Tensor> mixed;
  if (mixing) mixed = nn::attention_input(parts, tokens, left_out);
  const auto arguments = nn::attention_arguments(*attention, tokens, {.query_padding = inputs.padding});
  if (auto result = nn::fused_layer(parts, arguments, inputs.unread, mixed)) return *result;
  if (!mixing) tokens = cleared();
  auto [attended, terms] = attention->forward(mixed ? *mixed : nn::attention_input(parts, tokens, left_out),
                                              {.query_padding = inputs.padding});
  torch::Tensor out = nn::behind_attention(parts, tokens, attended);
  if (inputs.unread) out = out.masked_fill(inputs.unread->unsqueeze(-1), 0);
  return {out, terms};
}

State EncoderLayerImpl::initial_state(int64_t batch) const {
  if (!options_.attention.causal) throw Error("encoder_layer: only a causal layer has a state");
  State state = attention->initial_state(batch);
  if (!mixing) return state;
  const nn::TokenMixingState mixed = mixing->initial_state(batch);
  state.sums = mixed.sums;
  state.recent = mixed.recent;
  return state;
}

torch::Tensor EncoderLayerImpl::step(const torch::Tensor& x, State& state,
                                     const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  const std::optional<torch::Tensor> left_out = left_out_by(options_, padding);
  const torch::Tensor tokens = nn::encoder_tokens(options_.attention.width, x, padding, left_out.has_value());
  const nn::EncoderParts parts = parts_of(*this, /*training=*/false);
  nn::TokenMixingState mixed{state.sums, state.recent};
  const torch::Tensor seen = nn::attention_input_step(parts, tokens, mixed, left_out);
  const torch::Tensor attended = attention->step(seen, state, padding);
  // The attention gives a state of its own.
  state.sums = mixed.sums;
  state.recent = mixed.recent;
  return nn::behind_attention(parts, tokens, attended);
}

void EncoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << "primal::EncoderLayer(feed_forward=" << options_.feed_forward << ", dropout=" << options_.dropout
         << ", norm_first=" << (options_.norm_first ? "true" : "false")
         << ", activation=" << (options_.activation == Activation::gelu ? "gelu" : "relu") << ")";
}

}  // namespace primal
