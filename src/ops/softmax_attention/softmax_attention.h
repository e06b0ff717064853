// Softmax attention of heads, tile by tile: there is no N x N matrix, forward or backward, and dropout of the weights
// stores no mask. LibTorch's own falls back to whole matrices when weights are dropped, and draws them one by one.
//
//   const at::Tensor mixed = ops::softmax_attention({.q = q, .k = k, .v = v, .padding = padding, .dropout = 0.1});
//
// B sequences, H heads, N queries, M keys, d channels of a head.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace primal::ops {

/// Query i of N stands where key i + M - N of M does, and sees the keys from `behind` before that to `ahead` after.
struct SoftmaxReach {
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max() / 4;
  int64_t behind = kAll, ahead = kAll;

  static SoftmaxReach causal() { return {.ahead = 0}; }
};

struct SoftmaxAttention {
  at::Tensor q;                            // [B, H, N, d] float32 or bfloat16
  at::Tensor k, v;                         // [B, H, M, d]
  std::optional<at::Tensor> padding = {};  // [B, M] bool, true = padded
  /// Added to the scores of padded keys. -inf: padded tokens leave no trace, whatever they hold, and those among the
  /// queries get 0. Else, as published code has it, they are queries like any other.
  double padded_score = -std::numeric_limits<double>::infinity();
  SoftmaxReach reach = {};
  double dropout = 0;  // of the weights; takes one number from LibTorch's generator
};

/// Whether softmax_attention takes such queries: on the CPU, not float64, not switched off by PRIMAL_FUSED=0.
bool has_softmax_attention(const at::Tensor& q);

/// [B, H, N, d], the heads of a token lying beside each other in memory. A query that sees no key gets 0. All
/// arithmetic is float32, and its bits do not depend on the number of threads. Derivatives of derivatives are refused.
at::Tensor softmax_attention(const SoftmaxAttention& arguments);

}  // namespace primal::ops
