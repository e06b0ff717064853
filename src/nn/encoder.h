// A stack of encoder layers.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "nn/encoder_layer.h"

namespace primal::nn {

struct EncoderOutput {
  torch::Tensor out;             ///< [B, N, D]
  std::vector<KsvdTerms> terms;  ///< one per primal layer
};

/// What an encoder remembers of the tokens that it has stepped over.
struct EncoderState {
  std::vector<EncoderLayerState> layers;
};

/// By layer: "layers.0.attention.q_sum", "layers.0.mixing.sums".
StateTensors tensors_of(const EncoderState& state);
/// The way back, into a fresh state of the same encoder. Throws Error for what is missing, too much or of another form.
void load(EncoderState& state, const StateTensors& tensors);

/// The layers one after another, then a final norm.
class EncoderImpl : public torch::nn::Cloneable<EncoderImpl> {
 public:
  explicit EncoderImpl(std::vector<EncoderLayerOptions> layers);

  EncoderOutput forward(torch::Tensor x, const EncoderMasks& masks = {});

  /// Token-by-token decoding, equal to the full causal pass in evaluation mode, whatever the mode. No gradient. Both
  /// throw Error where a layer cannot decode so: every one must be causal.
  EncoderState initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on. padding: [B, T] bool, true = padded
  torch::Tensor step(torch::Tensor tokens, EncoderState& state, const std::optional<torch::Tensor>& padding = {});
  /// Tokens that a sequence may have while it is decoded; nothing: any number.
  std::optional<int64_t> most_tokens() const;
  void reset() override;

  torch::nn::ModuleList layers{nullptr};
  torch::nn::LayerNorm norm{nullptr};

 private:
  EncoderLayerImpl& layer(size_t index) const { return *layers->ptr(index)->as<EncoderLayerImpl>(); }
  /// What holds for one layer, out of what holds for the whole.
  EncoderMasks masks_of(size_t index, const EncoderMasks& masks) const;

  std::vector<EncoderLayerOptions> options_;
};
TORCH_MODULE(Encoder);

}  // namespace primal::nn
