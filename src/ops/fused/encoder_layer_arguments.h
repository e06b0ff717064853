// What the fused encoder layer is told.
#pragma once

#include <array>

#include "kernels/activation.h"
#include "ops/attention/arguments.h"

namespace primal::ops::fused {

struct LayerNormWeights {
  at::Tensor weight, bias;  // [D]
};

struct EncoderLayerArguments {
  AttentionArguments attention;  // its query is the input of the layer; causal or not
  LayerNormWeights norm1, norm2;
  at::Tensor linear1_weight, linear1_bias;  // [F, D], [F]
  at::Tensor linear2_weight, linear2_bias;  // [D, F], [D]
  bool norm_first = false;
  kernels::Activation activation = kernels::Activation::gelu;
  double epsilon = 1e-5;
  double dropout = 0;               // after the attention, inside and after the feed-forward part
  std::array<uint64_t, 3> seeds{};  // of these three
  OptionalTensor unread{};          // [B, N] bool: tokens whose output nobody reads; it is 0
  OptionalTensor attended{};        // [B, N, D]: what the attention sees, if not the input or its norm

  /// Whether norm1 stands between the input and the attention.
  bool norms_before_attention() const { return norm_first && !attended; }
};

}  // namespace primal::ops::fused
