// A whole PrimalFormer layer, tile by tile: norm, attention, residual, norm, feed-forward, residual, in pre- or
// post-norm order. Primal-Attention never looks at two tokens at once, apart from We|X and from the means
// of a causal one, so little but the layer's input and output needs to leave the cache; what the backward pass needs is
// kept or computed again.
#pragma once

#include "ops/fused/attention_gradients.h"
#include "ops/fused/encoder_layer_arguments.h"

namespace primal::ops::fused {

struct EncoderLayerForward {
  at::Tensor out;         // [B, N, D]
  at::Tensor le, lr, tr;  // [B]
  at::Tensor kept;        // [B * N * kept_numbers], if it is to be kept
};

/// How many numbers per token the backward pass can use.
int64_t kept_numbers(const EncoderLayerArguments& arguments);

EncoderLayerForward encoder_layer(const EncoderLayerArguments& arguments, bool keep);

struct EncoderLayerGradients {
  at::Tensor x;         // [B, N, D]
  at::Tensor attended;  // [B, N, D], if it was given: then x has no share of the attention
  ParameterGradients attention;
  LayerNormWeights norm1, norm2;
  at::Tensor linear1_weight, linear1_bias, linear2_weight, linear2_bias;
};

/// kept: of the forward pass, or undefined: then it is computed again.
EncoderLayerGradients encoder_layer_backward(const EncoderLayerArguments& arguments, const at::Tensor& out_gradient,
                                             const TermGradients& terms, const at::Tensor& kept);

}  // namespace primal::ops::fused
