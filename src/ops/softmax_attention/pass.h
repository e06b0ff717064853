// The passes of softmax attention: tiles of queries and keys, whose scores stay in cache.
#pragma once

#include "ops/softmax_attention/arguments.h"

namespace primal::ops {

/// All of float32 with channels beside each other.
struct SoftmaxForward {
  at::Tensor out;   // [B, H, N, d]
  at::Tensor sums;  // [B, H, N, 2]: of a query its largest score, and log of the sum of exp(score - largest); 0 and inf
                    // if it sees no key
};

SoftmaxForward softmax_attention_forward(const SoftmaxAttention& arguments, uint64_t seed);

struct SoftmaxGradients {
  at::Tensor q, k, v;
};

SoftmaxGradients softmax_attention_backward(const SoftmaxAttention& arguments, uint64_t seed,
                                            const SoftmaxForward& forward, const at::Tensor& out_gradient);

}  // namespace primal::ops
