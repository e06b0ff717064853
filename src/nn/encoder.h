// Encoder layers around an attention, and a stack of them.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "nn/softmax_attention.h"
#include "ops/attention/arguments.h"
#include "primal/attention.h"

namespace primal::nn {

enum class Activation { gelu, relu };

struct EncoderLayerOptions {
  std::variant<PrimalAttentionOptions, SoftmaxAttentionOptions> attention{};
  int64_t feed_forward = 0;  ///< inner width of the feed-forward part
  double dropout = 0;        ///< after the attention, inside and after the feed-forward part
  bool norm_first = false;   ///< pre-norm; else post-norm
  Activation activation = Activation::gelu;
  /// Keep only the input for the backward pass: the least memory, and a third more arithmetic. Default: up to width
  /// 128, where it costs at most 6 % of the time.
  std::optional<bool> recompute{};
  bool fused = true;  ///< as one operator where there is one; else composed of its parts
};

/// Both [B, N] bool.
struct EncoderMasks {
  std::optional<torch::Tensor> padding{};  ///< true = padded, for the attention
  /// Tokens whose output nobody reads, as a classifier that drops padded tokens: the output is 0 there, and the fused
  /// layer saves what lies behind the attention's scores.
  std::optional<torch::Tensor> unread{};
};

struct EncoderLayerOutput {
  torch::Tensor out;               ///< [B, N, D]
  std::optional<KsvdTerms> terms;  ///< of a primal layer
};

/// post-norm: x = norm1(x + attention(x)); x = norm2(x + feed_forward(x)). pre-norm: the norms stand before each part.
/// A Primal-Attention layer runs as one operator on the CPU in float32; both ways draw the same dropout.
class EncoderLayerImpl : public torch::nn::Cloneable<EncoderLayerImpl> {
 public:
  explicit EncoderLayerImpl(EncoderLayerOptions options);

  EncoderLayerOutput forward(const torch::Tensor& x, const EncoderMasks& masks = {});
  torch::Tensor attention_input(const torch::Tensor& x) { return options_.norm_first ? norm1(x) : x; }
  void reset() override;

  PrimalAttention primal_attention{nullptr};  ///< one of the two is there, under the name "attention"
  SoftmaxAttention softmax_attention{nullptr};
  torch::nn::Linear linear1{nullptr}, linear2{nullptr};
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};

 private:
  EncoderLayerOutput fused(const ops::AttentionArguments& arguments, const std::optional<torch::Tensor>& unread);
  EncoderLayerOutput composed(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);
  EncoderLayerOutput attend(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);
  torch::Tensor feed_forward(const torch::Tensor& x);
  torch::Tensor drop(const torch::Tensor& x) const;

  EncoderLayerOptions options_;
};
TORCH_MODULE(EncoderLayer);

struct EncoderOutput {
  torch::Tensor out;             ///< [B, N, D]
  std::vector<KsvdTerms> terms;  ///< one per primal layer
};

/// The layers one after another, then a final norm.
class EncoderImpl : public torch::nn::Cloneable<EncoderImpl> {
 public:
  explicit EncoderImpl(std::vector<EncoderLayerOptions> layers);

  EncoderOutput forward(torch::Tensor x, const EncoderMasks& masks = {});
  /// What the attention of each layer sees, after the norm if that comes first. For analysis.
  std::vector<torch::Tensor> attention_inputs(torch::Tensor x, const EncoderMasks& masks = {});
  void reset() override;

  torch::nn::ModuleList layers{nullptr};
  torch::nn::LayerNorm norm{nullptr};

 private:
  /// What holds for one layer, out of what holds for the whole.
  EncoderMasks masks_of(size_t layer, const EncoderMasks& masks) const;

  std::vector<EncoderLayerOptions> options_;
};
TORCH_MODULE(Encoder);

}  // namespace primal::nn
