#include "nn/encoder.h"

#include <ATen/ATen.h>

#include "primal/error.h"

namespace primal::nn {

EncoderImpl::EncoderImpl(std::vector<EncoderLayerOptions> layer_options) : options_(std::move(layer_options)) {
  if (options_.empty()) throw Error("encoder: at least one layer is needed");
  reset();
}

void EncoderImpl::reset() {
  layers = register_module("layers", torch::nn::ModuleList());
  for (const EncoderLayerOptions& options : options_) layers->push_back(EncoderLayer(options));
  const int64_t width = options_.back().attention.width;
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
}

// The output of a layer that is not the last is read by the next ones, but for tokens that all of them leave out: the
// attention and what mixes tokens before it go by the same rule.
EncoderMasks EncoderImpl::masks_of(size_t index, const EncoderMasks& masks) const {
  if (!options_[index].masked) return {};
  if (!masks.unread || index + 1 == layers->size()) return masks;
  if (!masks.padding) return {};
  for (size_t next = index + 1; next < layers->size(); ++next) {
    if (!options_[next].masked || layer(next).attention->sees_padding()) return {.padding = masks.padding};
  }
  return {.padding = masks.padding, .unread = *masks.padding & *masks.unread};
}

EncoderOutput EncoderImpl::forward(torch::Tensor x, const EncoderMasks& masks) {
  std::vector<KsvdTerms> terms;
  for (size_t i = 0; i < layers->size(); ++i) {
    auto result = layer(i).forward(x, masks_of(i, masks));
    x = result.out;
    if (result.terms) terms.push_back(*result.terms);
  }
  return {norm(x), terms};
}

std::optional<int64_t> EncoderImpl::most_tokens() const {
  std::optional<int64_t> most;
  for (size_t i = 0; i < layers->size(); ++i) {
    if (const auto of_layer = layer(i).attention->most_tokens()) most = std::min(*of_layer, most.value_or(*of_layer));
  }
  return most;
}

EncoderState EncoderImpl::initial_state(int64_t batch) const {
  EncoderState state;
  for (size_t i = 0; i < layers->size(); ++i) state.layers.push_back(layer(i).initial_state(batch));
  return state;
}

torch::Tensor EncoderImpl::step(torch::Tensor tokens, EncoderState& state,
                                const std::optional<torch::Tensor>& padding) {
  if (state.layers.size() != layers->size()) {
    throw Error(
        c10::str("encoder: the state is of ", state.layers.size(), " layers, the encoder has ", layers->size()));
  }
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < layers->size(); ++i) {
    tokens = layer(i).step(tokens, state.layers[i], options_[i].masked ? padding : std::nullopt);
  }
  return norm(tokens);
}

}  // namespace primal::nn
