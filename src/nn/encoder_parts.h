// What stands around the attention in an encoder layer, whatever the attention.
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <memory>
#include <optional>

#include "ops/attention/arguments.h"
#include "primal/encoder_layer.h"

namespace primal::nn {

class TokenMixingImpl;
struct TokenMixingState;

/// Refers to the modules of a layer, for the time of a call.
struct EncoderParts {
  torch::nn::Linear &linear1, &linear2;
  torch::nn::LayerNorm &norm1, &norm2;
  double dropout = 0;
  bool norm_first = false;
  Activation activation = Activation::gelu;
  std::optional<bool> recompute{};
  bool training = false;              ///< only training draws dropout
  TokenMixingImpl* mixing = nullptr;  ///< before the attention; null: none
};

/// x as the attention sees it. left_out: [B, N] bool, padded tokens if they are respected; x is 0 there
torch::Tensor attention_input(const EncoderParts& parts, const torch::Tensor& x,
                              const std::optional<torch::Tensor>& left_out);

/// The same for the next tokens of a sequence; state is moved on if there is a mixing.
torch::Tensor attention_input_step(const EncoderParts& parts, const torch::Tensor& x, TokenMixingState& state,
                                   const std::optional<torch::Tensor>& left_out);

/// Residuals, norms and the feed-forward part.
torch::Tensor behind_attention(const EncoderParts& parts, const torch::Tensor& x, const torch::Tensor& attended);

/// The whole layer as one operator, where there is one for these arguments now; else nothing. attended: what the
/// attention sees, if that was mixed
std::optional<AttentionOutput> fused_layer(const EncoderParts& parts, const ops::AttentionArguments& attention,
                                           const std::optional<torch::Tensor>& unread,
                                           const std::optional<torch::Tensor>& attended);

/// The mixing that these options ask for, or null. tokens: the longest time scale to begin with
std::shared_ptr<TokenMixingImpl> make_mixing(LayerMemory memory, int64_t scales, int64_t tokens, int64_t kernel,
                                             int64_t width, bool causal);

/// x, [B, N, width], with 0 in padded tokens if the attention respects padding. Throws Error where a size does not fit.
torch::Tensor encoder_tokens(int64_t width, const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                             bool respect_padding);

}  // namespace primal::nn
