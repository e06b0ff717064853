// Cosine attention without a normaliser: queries and keys of length 1, their products divided by sqrt(N). A baseline of
// the Long Range Arena code.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// sum_j cos(q_i, k_j) v_j / sqrt(N); N: see unnormalised_attention. -> [B, H, N, d]
torch::Tensor cosine_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, Masking masking);

/// The kind "cosine".
std::unique_ptr<Attention> make_cosine_attention(const AttentionOptions& options);

}  // namespace primal::nn
