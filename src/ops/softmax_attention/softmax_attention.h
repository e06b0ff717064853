// Softmax attention of heads, tile by tile: there is no N x N matrix, forward or backward, and dropout of the weights
// stores no mask. LibTorch's own falls back to whole matrices when weights are dropped, and draws them one by one.
//
//   const at::Tensor mixed = ops::softmax_attention({.q = q, .k = k, .v = v, .padding = padding, .dropout = 0.1});
#pragma once

#include "ops/softmax_attention/arguments.h"

namespace primal::ops {

/// Whether LibTorch's is the slower one: on the CPU, in float32, and in bfloat16 if weights are dropped or the CPU does
/// not multiply such numbers itself. Never with PRIMAL_FUSED=0.
bool has_softmax_attention(const at::Tensor& q, double dropout);

/// [B, H, N, d], the heads of a token lying beside each other in memory. A query that sees no key gets 0. All
/// arithmetic is float32, and its bits do not depend on the number of threads. Derivatives of derivatives are refused.
at::Tensor softmax_attention(const SoftmaxAttention& arguments);

}  // namespace primal::ops
