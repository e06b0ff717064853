// Performer (Choromanski et al., ICLR 2021): the softmax kernel as a mean over positive random features (FAVOR+).
// Linear in the number of tokens.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

struct PerformerMath {
  torch::Tensor directions;  ///< W, [m, d]
  double epsilon = 1e-4;     ///< added to every feature
  bool causal = false;
  Masking masking = Masking::right;
};

/// Means of the values with the weights phi(q_i) . phi(k_j), phi(x)_r = (exp(w_r . x - |x|^2 / 2 - c) + epsilon) /
/// sqrt(m) for x = q or k times d^(-1/4). c keeps the exponential in range and is a constant for the gradient: the
/// largest w_r . x of a query, and of all keys of a sample and head; 0 for the keys of a causal pass, where it would
/// show the future. past: tokens before these (null: none), moved on. -> [B, H, N, d]
///
/// Masking::published: x = q or k times d^(-1/2), and padded keys are 0 vectors, which still have features.
torch::Tensor performer_attention(const Heads& heads, const PerformerMath& math,
                                  const std::optional<torch::Tensor>& padding, Past* past = nullptr);

/// The kind "performer". Its features are buffers: "directions" [m, d], "seed", and "passes" in training so far, of
/// which every options.performer.redraw-th draws them anew.
std::unique_ptr<Attention> make_performer_attention(const AttentionOptions& options);

}  // namespace primal::nn
