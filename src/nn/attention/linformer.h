// Linformer (Wang et al., 2020): keys and values of all tokens are mapped to a few rows by a learnt matrix, and a
// softmax runs over these. Linear in the number of tokens, which is limited by the matrix.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// softmax(q (E k)^T / sqrt(d)) (E v), with 0 for padded k and v. E: [H, rows, tokens]; shorter sequences use its first
/// columns. -> [B, H, N, d]
torch::Tensor linformer_attention(const Heads& heads, const torch::Tensor& e,
                                  const std::optional<torch::Tensor>& padding, double dropout = 0);

/// The kind "linformer".
std::unique_ptr<Attention> make_linformer_attention(const AttentionOptions& options);

}  // namespace primal::nn
