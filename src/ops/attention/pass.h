// One pass of the layer in ATen calls: every intermediate that the output, the scores and the gradients need.
#pragma once

#include <memory>

#include "ops/attention/arguments.h"
#include "ops/running_mean.h"
#include "primal/feature_map.h"

namespace primal::ops {

/// "Inner" tensors are float32 or float64: bfloat16 tokens are projected in bfloat16 and widened after.
struct AttentionPass {
  std::shared_ptr<const FeatureMap> map;
  OptionalTensor query_out;     // [B, Nq] bool: tokens left out of means, weights and output; absent = none
  OptionalTensor key_out;       // [B, Nk]
  at::Tensor query, key;        // [B, N, D], zero where left out
  at::Tensor q_alone, k_alone;  // [B, N, D] inner: before a fading mean; undefined without log_scale
  at::Tensor q, k;              // [B, H, N, d] inner, after the running or fading mean if causal
  at::Tensor query_f, key_f;    // [B, H, N, p] inner: phi(q), phi(k)
  at::Tensor positions;         // [B or 1, n] sampled rows; undefined when data-independent
  at::Tensor rows;              // [B, H, n, d] inner: the sampled rows of the key sequence
  at::Tensor rows_f;            // [B, H, n, p] inner: f(X)
  at::Tensor we_x, wr_x;        // [B or 1, H, p, s] inner
  at::Tensor e, r;              // [B, H, N, s] inner
  at::Tensor beside;            // [B or 1, Nq] key position beside a query; undefined for self-attention
  at::Tensor concatenated;      // [B, H, Nq, 2s] inner: [e ; r]
  at::Tensor merged;            // [B, Nq, D] token dtype: input of the output projection
};

/// The state before the first token, for causal decoding; updated by the pass.
struct CausalState {
  RunningState q, k;
};

/// Up to and including the scores (no concatenation).
AttentionPass run_scores(const AttentionArguments& arguments, CausalState* state = nullptr);
/// From pass.e and pass.r to pass.merged.
void mix_scores(const AttentionArguments& arguments, AttentionPass& pass);
/// All of it.
AttentionPass run_pass(const AttentionArguments& arguments, CausalState* state = nullptr);
/// The output projection. -> [B, Nq, D]
at::Tensor output(const AttentionArguments& arguments, const AttentionPass& pass);

/// [B, N, D] -> [B, H, N, d] and back.
at::Tensor split_heads(const at::Tensor& x, int64_t heads);
at::Tensor merge_heads(const at::Tensor& x);

/// Weight of each token in the mean over heads and counted tokens: [B, 1, N, 1], or a plain number when all count.
at::Tensor token_weight(const at::Tensor& scores, const OptionalTensor& left_out);

/// x with zeros where the mask [B, N] is set. x: [B, N, D]
at::Tensor zero_where(const at::Tensor& x, const OptionalTensor& mask);

}  // namespace primal::ops
