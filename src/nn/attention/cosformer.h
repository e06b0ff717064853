// cosFormer (Qin et al., "cosFormer: Rethinking Softmax in Attention", ICLR 2022): weights that are never negative and
// fall off with the distance of two tokens as a cosine does. Linear in the number of tokens.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// out_i = sum_j w_ij v_j / max(sum_j w_ij, 1e-6), w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / (2 M)), where i counts
/// the real tokens of the sample and M is their number. A query without a positive number gets 0. No published code
/// knows padding.
torch::Tensor cosformer_attention(const Heads& heads, const std::optional<torch::Tensor>& padding);

/// The same over j <= i. Beyond M = period tokens weights would become negative, so that is an Error; 0: M is the
/// length of the sample, as published, and then its first outputs depend on how long it becomes. past: tokens before
/// these (null: none), moved on; it needs a period.
torch::Tensor causal_cosformer_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                                         int64_t period, Past* past = nullptr);

/// The kind "cosformer". A causal layer takes AttentionOptions::tokens as its period, and decodes only if it is known.
std::unique_ptr<Attention> make_cosformer_attention(const AttentionOptions& options);

}  // namespace primal::nn
