// A whole PrimalFormer layer, tile by tile: norm, attention, residual, norm, feed-forward, residual, in pre- or
// post-norm order. Primal-Attention never looks at two tokens at once, apart from We|X, so nothing but the layer's
// input and output needs to leave the cache; what the backward pass needs is kept or computed again.
#pragma once

#include <array>

#include "kernels/activation.h"
#include "ops/attention/arguments.h"
#include "ops/fused/attention_gradients.h"

namespace primal::ops::fused {

struct LayerNormWeights {
  at::Tensor weight, bias;  // [D]
};

struct EncoderLayerArguments {
  AttentionArguments attention;  // its query is the input of the layer
  LayerNormWeights norm1, norm2;
  at::Tensor linear1_weight, linear1_bias;  // [F, D], [F]
  at::Tensor linear2_weight, linear2_bias;  // [D, F], [D]
  bool norm_first = false;
  kernels::Activation activation = kernels::Activation::gelu;
  double epsilon = 1e-5;
  double dropout = 0;               // after the attention, inside and after the feed-forward part
  std::array<uint64_t, 3> seeds{};  // of these three
  OptionalTensor unread{};          // [B, N] bool: tokens whose output nobody reads; it is 0
};

struct EncoderLayerForward {
  at::Tensor out;         // [B, N, D]
  at::Tensor le, lr, tr;  // [B]
  at::Tensor kept;        // [B * N * kept_numbers], if it is to be kept
};

/// How many numbers per token the backward pass can use.
int64_t kept_numbers(const EncoderLayerArguments& arguments);

EncoderLayerForward encoder_layer(const EncoderLayerArguments& arguments, bool keep);

struct EncoderLayerGradients {
  at::Tensor x;  // [B, N, D]
  ParameterGradients attention;
  LayerNormWeights norm1, norm2;
  at::Tensor linear1_weight, linear1_bias, linear2_weight, linear2_bias;
};

/// kept: of the forward pass, or undefined: then it is computed again.
EncoderLayerGradients encoder_layer_backward(const EncoderLayerArguments& arguments, const at::Tensor& out_gradient,
                                             const TermGradients& terms, const at::Tensor& kept);

}  // namespace primal::ops::fused
