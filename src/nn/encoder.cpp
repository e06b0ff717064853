#include "nn/encoder.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "nn/primal_attention_arguments.h"
#include "ops/dropout.h"
#include "ops/encoder_layer/encoder_layer.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr int64_t kRecomputedWidth = 128;  // up to there recomputing costs at most 6 % of the time

int64_t width_of(const EncoderLayerOptions& options) {
  return std::visit([](const auto& attention) { return attention.width; }, options.attention);
}

bool sees_padding(const EncoderLayerOptions& options) {
  const auto* primal = std::get_if<PrimalAttentionOptions>(&options.attention);
  return primal != nullptr && primal->padding != Padding::respect;
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
  if (const auto* primal = std::get_if<PrimalAttentionOptions>(&options_.attention)) {
    primal_attention = register_module("attention", PrimalAttention(*primal));
  } else {
    softmax_attention =
        register_module("attention", SoftmaxAttention(std::get<SoftmaxAttentionOptions>(options_.attention)));
  }
  const int64_t width = width_of(options_);
  linear1 = register_module("linear1", torch::nn::Linear(width, options_.feed_forward));
  linear2 = register_module("linear2", torch::nn::Linear(options_.feed_forward, width));
  norm1 = register_module("norm1", layer_norm(width));
  norm2 = register_module("norm2", layer_norm(width));
}

torch::Tensor EncoderLayerImpl::drop(const torch::Tensor& x) const {
  return ops::dropout(x, options_.dropout, is_training());
}

EncoderLayerOutput EncoderLayerImpl::attend(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  if (primal_attention.is_empty()) return {drop(softmax_attention->forward(x, padding)), std::nullopt};
  auto [out, terms] = primal_attention->forward(x, {.query_padding = padding});
  return {drop(out), terms};
}

torch::Tensor EncoderLayerImpl::feed_forward(const torch::Tensor& x) {
  const torch::Tensor inner = linear1(x);
  return drop(linear2(drop(options_.activation == Activation::gelu ? at::gelu(inner) : at::relu(inner))));
}

EncoderLayerOutput EncoderLayerImpl::fused(const ops::AttentionArguments& arguments,
                                           const std::optional<torch::Tensor>& unread) {
  const bool drops = is_training() && options_.dropout > 0;
  const auto seed = [&] { return drops ? ops::draw_dropout_seed() : 0; };
  ops::EncoderLayerSwitches switches{.norm_first = options_.norm_first,
                                     .activation = options_.activation == Activation::gelu ? "gelu" : "relu",
                                     .epsilon = norm1->options.eps(),
                                     .dropout = drops ? options_.dropout : 0,
                                     .recompute = options_.recompute.value_or(width_of(options_) <= kRecomputedWidth)};
  for (int64_t& one : switches.seeds) one = seed();
  return with_plain_errors([&]() -> EncoderLayerOutput {
    auto [out, le, lr, tr] = ops::encoder_layer(arguments,
                                                {norm1->weight, norm1->bias, norm2->weight, norm2->bias,
                                                 linear1->weight, linear1->bias, linear2->weight, linear2->bias},
                                                switches, unread);
    return {out, KsvdTerms{le, lr, tr}};
  });
}

EncoderLayerOutput EncoderLayerImpl::forward(const torch::Tensor& x, const EncoderMasks& masks) {
  if (options_.fused && !primal_attention.is_empty() && !at::autocast::is_autocast_enabled(at::kCPU)) {
    const ops::AttentionArguments arguments =
        attention_arguments(*primal_attention, x, {.query_padding = masks.padding});
    if (ops::has_encoder_layer(arguments)) return fused(arguments, masks.unread);
  }
  EncoderLayerOutput result = composed(x, masks.padding);
  if (masks.unread) result.out = result.out.masked_fill(masks.unread->unsqueeze(-1), 0);
  return result;
}

EncoderLayerOutput EncoderLayerImpl::composed(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  auto [attended, terms] = attend(attention_input(x), padding);
  if (options_.norm_first) {
    const torch::Tensor middle = x + attended;
    return {middle + feed_forward(norm2(middle)), terms};
  }
  const torch::Tensor middle = norm1(x + attended);
  return {norm2(middle + feed_forward(middle)), terms};
}

EncoderImpl::EncoderImpl(std::vector<EncoderLayerOptions> layer_options) : options_(std::move(layer_options)) {
  if (options_.empty()) throw Error("encoder: at least one layer is needed");
  reset();
}

void EncoderImpl::reset() {
  layers = register_module("layers", torch::nn::ModuleList());
  for (const EncoderLayerOptions& options : options_) layers->push_back(EncoderLayer(options));
  norm = register_module("norm", layer_norm(width_of(options_.back())));
}

// The output of a layer that is not the last is read by the next ones, but for tokens that all of them leave out.
EncoderMasks EncoderImpl::masks_of(size_t layer, const EncoderMasks& masks) const {
  if (!masks.unread || layer + 1 == options_.size()) return masks;
  const bool left_out = masks.padding && std::none_of(options_.begin() + static_cast<std::ptrdiff_t>(layer) + 1,
                                                      options_.end(), sees_padding);
  return {masks.padding, left_out ? std::optional(*masks.padding & *masks.unread) : std::nullopt};
}

EncoderOutput EncoderImpl::forward(torch::Tensor x, const EncoderMasks& masks) {
  std::vector<KsvdTerms> terms;
  for (size_t i = 0; i < layers->size(); ++i) {
    auto result = layers[i]->as<EncoderLayerImpl>()->forward(x, masks_of(i, masks));
    x = result.out;
    if (result.terms) terms.push_back(*result.terms);
  }
  return {norm(x), terms};
}

std::vector<torch::Tensor> EncoderImpl::attention_inputs(torch::Tensor x, const EncoderMasks& masks) {
  std::vector<torch::Tensor> inputs;
  for (size_t i = 0; i < layers->size(); ++i) {
    auto* encoder_layer = layers[i]->as<EncoderLayerImpl>();
    inputs.push_back(encoder_layer->attention_input(x));
    x = encoder_layer->forward(x, masks_of(i, masks)).out;
  }
  return inputs;
}

}  // namespace primal::nn
