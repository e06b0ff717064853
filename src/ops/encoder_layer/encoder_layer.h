// torch.ops.primal.encoder_layer from C++, through the dispatcher: a whole layer around a Primal-Attention.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>

#include "ops/attention/attention.h"

namespace primal::ops {

/// A bias that does not exist is an empty tensor.
struct EncoderLayerParameters {
  at::Tensor norm1_weight, norm1_bias, norm2_weight, norm2_bias;          // [D]
  at::Tensor linear1_weight, linear1_bias, linear2_weight, linear2_bias;  // [F, D], [F], [D, F], [D]
};

struct EncoderLayerSwitches {
  bool norm_first = false;
  std::string activation = "gelu";  // or "relu"
  double epsilon = 1e-5;            // of the norms
  double dropout = 0;               // after the attention, inside and after the feed-forward part
  std::array<int64_t, 3> seeds{};   // of these three
  bool recompute = false;           // keep nothing but the input for the backward pass
};

/// Whether there is a fused layer for these: self-attention with the cosine feature map, on the CPU, in float32, or in
/// bfloat16 where the CPU does not multiply such numbers itself (then stored so, computed in float32); heads that share
/// time scales, if it is causal and fades.
bool has_encoder_layer(const AttentionArguments& attention);

/// attention.query is the input of the layer. unread: [B, N] bool, tokens whose output nobody reads: it is 0 there, and
/// most of its arithmetic is saved. attended: [B, N, D], what the attention sees instead of the input, or instead of
/// its norm if that comes first: then norm1 is not used before the attention.
AttentionResult encoder_layer(const AttentionArguments& attention, const EncoderLayerParameters& parameters,
                              const EncoderLayerSwitches& switches, const OptionalTensor& unread = {},
                              const OptionalTensor& attended = {});

}  // namespace primal::ops
