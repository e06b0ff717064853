// Softmax attention, the layer that Primal-Attention replaces: for Primal.+ models and as a baseline.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "nn/attention/attention.h"
#include "nn/attention/key_value_cache.h"

namespace primal::nn {

class SoftmaxAttentionImpl : public torch::nn::Cloneable<SoftmaxAttentionImpl> {
 public:
  explicit SoftmaxAttentionImpl(AttentionOptions options);

  /// x: [B, N, D]; padding: [B, N] bool, true = padded: such tokens are not looked at, and their own output is 0
  /// (Padding::respect), or they are, and the input of their output projection is 0 (Padding::ignore), or they are not
  /// looked at but have an output (Masking::published).
  torch::Tensor forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding = {});

  /// The next tokens of a causal layer, [B, T, D] -> [B, T, D]; past gets their keys and values. No dropout.
  torch::Tensor step(const torch::Tensor& tokens, KeyValueCache& past,
                     const std::optional<torch::Tensor>& padding = {});
  /// See Attention::value_map(). It must not outlive the layer.
  ValueMap value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding);
  void reset() override;

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  bool is_masked_as_published() const { return options_.masking == Masking::published; }
  bool is_masked() const { return options_.padding == Padding::respect || is_masked_as_published(); }
  torch::Tensor heads(const torch::Tensor& x) const;  // [B, N, D] -> [B, H, N, d]
  // q, k, v: [B, H, N, d]
  torch::Tensor mixed(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                      const std::optional<torch::Tensor>& padding);
  torch::Tensor output(const torch::Tensor& mixed, const std::optional<torch::Tensor>& padding);

  AttentionOptions options_;
};
TORCH_MODULE(SoftmaxAttention);

/// The kind "softmax".
std::unique_ptr<Attention> make_softmax_attention(const AttentionOptions& options);

}  // namespace primal::nn
