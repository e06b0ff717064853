// Calls of torch.ops.primal.* from C++, through the dispatcher (so autograd, autocast and other backends take part).
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "ops/attention/arguments.h"

namespace primal::ops {

struct AttentionResult {
  at::Tensor out;         // [B, Nq, D]
  at::Tensor le, lr, tr;  // [B]; float32 for bfloat16 input
};

AttentionResult attention(const AttentionArguments& arguments);

struct AttentionScores {
  at::Tensor e, r;        // [B, H, Nq, s], [B, H, Nk, s]; 0 at padded tokens when padding is respected
  at::Tensor we_x, wr_x;  // [B or 1, H, p, s]: the weights that the scores were made with
};

/// The scores of the same pass, for analysis: not differentiable.
AttentionScores attention_scores(const AttentionArguments& arguments);

struct AttentionStep {
  at::Tensor out;           // [B, T, D]
  at::Tensor q_sum, k_sum;  // [B, D] float64
  at::Tensor count;         // [B] int64
};

/// The next T tokens of a causal layer (arguments.query) after the state before. Not differentiable.
AttentionStep attention_step(const AttentionArguments& arguments, const at::Tensor& q_sum, const at::Tensor& k_sum,
                             const at::Tensor& count);

}  // namespace primal::ops
