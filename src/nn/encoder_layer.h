// One layer of an encoder: an attention of any kind, and a feed-forward part.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>

#include "nn/attention/attention.h"
#include "nn/encoder_parts.h"
#include "nn/token_mixing.h"

namespace primal::nn {

struct EncoderLayerOptions {
  AttentionOptions attention{};
  int64_t feed_forward = 0;  ///< inner width of the feed-forward part
  double dropout = 0;        ///< after the attention, inside and after the feed-forward part
  bool norm_first = false;   ///< pre-norm; else post-norm
  Activation activation = Activation::gelu;
  /// Keep only the input for the backward pass: the least memory, and a third more arithmetic. Default: up to width
  /// 128, where it costs at most 6 % of the time.
  std::optional<bool> recompute{};
  bool fused = true;  ///< as one operator where there is one; else composed of its parts
  /// Of what the attention sees: see primal::EncoderLayerOptions.
  LayerMemory memory = LayerMemory::none;
  int64_t memory_scales = 4;
  int64_t memory_tokens = 0;  ///< 0: attention.tokens, or 1024 if that is not known
  int64_t kernel = 0;
  bool masked = true;  ///< an encoder tells the layer which tokens are padded; the published causal layers never know
};

/// Both [B, N] bool.
struct EncoderMasks {
  /// true = padded. An attention that respects it leaves these tokens out, and the layer takes them for 0, whatever
  /// stands in them, even NaN; else it is only told to the attention.
  std::optional<torch::Tensor> padding{};
  /// Tokens whose output nobody reads, as a classifier that drops padded tokens: the output is 0 there, and the fused
  /// layer saves what lies behind the attention's scores.
  std::optional<torch::Tensor> unread{};
};

/// What a layer remembers of the tokens that it has stepped over.
struct EncoderLayerState {
  std::unique_ptr<AttentionState> attention;
  TokenMixingState mixing{};
};

/// post-norm: x = norm1(x + attention(x)); x = norm2(x + feed_forward(x)). pre-norm: the norms stand before each part.
/// A Primal-Attention layer runs as one operator on the CPU in float32; both ways draw the same dropout.
class EncoderLayerImpl : public torch::nn::Cloneable<EncoderLayerImpl> {
 public:
  explicit EncoderLayerImpl(EncoderLayerOptions options);

  AttentionResult forward(const torch::Tensor& x, const EncoderMasks& masks = {});

  /// Token-by-token decoding, equal to the full causal pass in evaluation mode, whatever the mode. No gradient.
  EncoderLayerState initial_state(int64_t batch) const;
  /// x: [B, T, D] -> [B, T, D]; state is moved on. padding: [B, T] bool
  torch::Tensor step(const torch::Tensor& x, EncoderLayerState& state,
                     const std::optional<torch::Tensor>& padding = {});
  void reset() override;

  std::shared_ptr<Attention> attention;  ///< its parameters have the name "attention"
  torch::nn::Linear linear1{nullptr}, linear2{nullptr};
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  TokenMixing mixing{nullptr};  ///< empty without memory and kernel

 private:
  torch::Tensor cleared(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) const;
  /// Padded tokens, if the attention leaves them out.
  std::optional<torch::Tensor> left_out(const std::optional<torch::Tensor>& padding) const;
  EncoderParts parts(bool training);

  EncoderLayerOptions options_;
};
TORCH_MODULE(EncoderLayer);

}  // namespace primal::nn
