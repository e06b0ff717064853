// A whole PrimalFormer layer as a LibTorch module: attention, feed-forward part, norms and residuals.
//
//   primal::EncoderLayer layer(primal::EncoderLayerOptions{
//       .attention = {.width = 512, .heads = 8, .rank = 30}, .feed_forward = 2048, .dropout = 0.1});
//   auto [out, terms] = layer->forward(x, {.padding = primal::padding_mask(lengths, 1000)});
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any_value.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>

#include "primal/attention.h"

namespace primal {

namespace nn {
class TokenMixingImpl;
}

enum class Activation { gelu, relu };
enum class LayerMemory { none, decay };  ///< decay: fading averages of the tokens; see docs/method.md

struct EncoderLayerOptions {
  PrimalAttentionOptions attention{};
  int64_t feed_forward = 0;  ///< inner width of the feed-forward part
  double dropout = 0;        ///< after the attention, inside and after the feed-forward part
  bool norm_first = false;   ///< pre-norm; else post-norm
  Activation activation = Activation::gelu;
  /// Keep only the input for the backward pass: the least memory, and a third more arithmetic. Default: up to width
  /// 128, where it costs at most 6 % of the time.
  std::optional<bool> recompute{};
  /// Of what the attention sees (none is published): fading averages, both ways unless the attention is causal.
  LayerMemory memory = LayerMemory::none;
  int64_t memory_scales = 4;     ///< time scales per channel
  int64_t memory_tokens = 1024;  ///< the longest of them to begin with
  /// A depth-wise convolution before the memory, of so many tokens: the last ones if the attention is causal, else
  /// those around each, and odd. 0 = none (published).
  int64_t kernel = 0;
};

/// What may come with the tokens. Both [B, N] bool.
struct EncoderLayerInputs {
  std::optional<torch::Tensor> padding{};  ///< true = padded
  /// Tokens whose output nobody reads, as below a head that drops padded ones: the output is 0 there, and the fused
  /// layer saves what lies behind the attention's scores.
  std::optional<torch::Tensor> unread{};
};

/// post-norm: x = norm1(x + attention(x)); x = norm2(x + feed_forward(x)). pre-norm: the norms stand before each part.
/// With a memory or a kernel the attention sees tokens that were mixed with their neighbours; the residual does not.
/// On the CPU in float32, with the cosine feature map, it runs as one operator that keeps its intermediates in cache;
/// elsewhere it is composed of its parts.
class PRIMAL_API EncoderLayerImpl : public torch::nn::Cloneable<EncoderLayerImpl> {
 public:
  /// Throws Error for options that do not fit together.
  explicit EncoderLayerImpl(EncoderLayerOptions options);

  /// x: [B, N, D]. Throws Error for shapes, dtypes or devices that do not fit.
  AttentionOutput forward(const torch::Tensor& x, const EncoderLayerInputs& inputs = {});

  /// Token-by-token decoding of a causal layer, equal to the full pass in evaluation mode, whatever the mode. No
  /// gradient.
  State initial_state(int64_t batch) const;
  /// The next tokens, [B, T, D] -> [B, T, D]; state is moved on. padding: [B, T] bool
  torch::Tensor step(const torch::Tensor& tokens, State& state, const std::optional<torch::Tensor>& padding = {});

  const EncoderLayerOptions& options() const { return options_; }

  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  PrimalAttention attention{nullptr};
  torch::nn::Linear linear1{nullptr}, linear2{nullptr};
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  std::shared_ptr<nn::TokenMixingImpl>
      mixing;  ///< its parameters have the name "mixing"; null without memory and kernel

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(EncoderLayerInputs())})

 private:
  EncoderLayerOptions options_;
};
TORCH_MODULE(EncoderLayer);

}  // namespace primal
