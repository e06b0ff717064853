// Attention inside a sliding window (Beltagy et al., "Longformer", 2020, without its global tokens): a softmax over
// near tokens only. Linear in the number of tokens.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// How many tokens behind and ahead of itself a token looks at.
struct WindowReach {
  int64_t behind = 0, ahead = 0;
};

/// Softmax of q_i . k_j / sqrt(d) over -behind <= j - i <= ahead, in blocks: memory grows with T (behind + ahead).
/// heads.q: [B, H, T, d]; heads.k, heads.v: [B, H, S + T, d], with S <= behind tokens before the first query.
/// padding: [B, S + T], true = not looked at, but by the token itself, so that no softmax is over nothing. Such tokens
/// still fill a place of the window. dropout: of the weights
torch::Tensor window_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, WindowReach reach,
                               double dropout = 0);

/// The kind "window". Both maskings are the same: published code leaves padded keys out as well.
std::unique_ptr<Attention> make_window_attention(const AttentionOptions& options);

}  // namespace primal::nn
