// What softmax attention is given. B sequences, H heads, N queries, M keys, d channels of a head.
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

}  // namespace primal::ops
