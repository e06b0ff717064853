// Softmax attention, the layer that Primal-Attention replaces: for Primal.+ models and as a baseline.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>

namespace primal::nn {

struct SoftmaxAttentionOptions {
  int64_t width = 0;
  int64_t heads = 1;
  double dropout = 0;  ///< of the attention weights
  bool causal = false;
  bool bias = true;
};

class SoftmaxAttentionImpl : public torch::nn::Cloneable<SoftmaxAttentionImpl> {
 public:
  explicit SoftmaxAttentionImpl(SoftmaxAttentionOptions options);

  /// x: [B, N, D]; padding: [B, N] bool, true = padded: such tokens are not looked at, and their own output is 0.
  torch::Tensor forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding = {});
  void reset() override;

  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};

 private:
  SoftmaxAttentionOptions options_;
};
TORCH_MODULE(SoftmaxAttention);

}  // namespace primal::nn
