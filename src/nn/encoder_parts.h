// What stands around the attention in an encoder layer, whatever the attention.
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <optional>

#include "ops/attention/arguments.h"
#include "primal/encoder_layer.h"

namespace primal::nn {

/// Refers to the modules of a layer, for the time of a call.
struct EncoderParts {
  torch::nn::Linear &linear1, &linear2;
  torch::nn::LayerNorm &norm1, &norm2;
  double dropout = 0;
  bool norm_first = false;
  Activation activation = Activation::gelu;
  std::optional<bool> recompute{};
  bool training = false;  ///< only training draws dropout
};

/// x as the attention sees it.
torch::Tensor attention_input(const EncoderParts& parts, const torch::Tensor& x);

/// Residuals, norms and the feed-forward part.
torch::Tensor behind_attention(const EncoderParts& parts, const torch::Tensor& x, const torch::Tensor& attended);

/// The whole layer as one operator, where there is one for these arguments now; else nothing.
std::optional<AttentionOutput> fused_layer(const EncoderParts& parts, const ops::AttentionArguments& attention,
                                           const std::optional<torch::Tensor>& unread);

/// x, [B, N, width], with 0 in padded tokens if the attention respects padding. Throws Error where a size does not fit.
torch::Tensor encoder_tokens(int64_t width, const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                             bool respect_padding);

}  // namespace primal::nn
