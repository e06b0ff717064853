// Self-attention with the cosine feature map, tile by tile: the steps that the attention operator and the encoder layer
// put together. Pointers named after a tile or chunk begin at its first token; their rows are dense.
#pragma once

#include <ATen/ATen.h>

#include "kernels/head_scores.h"
#include "ops/fused/attention_weights.h"
#include "ops/fused/read_tokens.h"

namespace primal::ops::fused {

/// Which tokens are padded, [B * N], and what that means.
struct TokenMask {
  at::Tensor tensor;
  const bool* padded = nullptr;  // null: none is
  bool respect = true;           // left out of everything; else only the input of the output projection is 0 there

  TokenMask() = default;
  TokenMask(const OptionalTensor& padding, bool respect_padding);
  bool leaves_out(int64_t token) const { return padded != nullptr && respect && padded[token]; }
  bool any(Range range) const;
  /// Zeros in the rows of padded tokens.
  void clear(Range range, int64_t width, float* rows) const;
};

class AttentionPass {
 public:
  /// rows: [B, n, D] f(X), undefined when the weights do not depend on data. Without `forward`, project and output
  /// cannot be called: a backward pass that was given q and k saves the packing. unread: [B, N] bool, or none.
  AttentionPass(const AttentionArguments& arguments, const at::Tensor& rows, bool forward,
                const OptionalTensor& unread = {});

  const AttentionArguments& arguments() const { return a_; }
  const AttentionShape& shape() const { return shape_; }
  const TokenMask& mask() const { return mask_; }
  const ReadTokens& read() const { return read_; }
  const ScoreWeights& weights() const { return weights_; }
  const FoldedOutput& folded() const { return folded_; }
  int64_t tile() const { return tile_tokens(shape_.width, shape_.all_tokens()); }

  /// x: [T, D] -> q and k, [T, 2D].
  void project(const float* x, Range tile, float* projected) const;
  /// -> 1 / |q_h| and 1 / |k_h|, [T, 2H]; scores [T, 2 H s].
  void scores(const float* projected, Range tile, float* inverse, float* scores) const;
  /// scores: rows of the tile's tokens that are read -> such rows of [D]
  void output(const float* scores, Range tile, float* out) const;
  /// Le and Lr before the mean, one number per token.
  void squares(const float* scores, Range tile, float* le, float* lr) const;
  /// Le or Lr of each sample from the numbers per token. -> [B]
  at::Tensor mean_of_squares(const at::Tensor& per_token) const;
  at::Tensor trace() const;
  /// 1 / (H * counted tokens) of each sample: the weight of a token in Le and Lr. [B]
  const at::Tensor& token_weight() const { return token_weight_; }
  kernels::HeadShape heads_of(Range tile) const {
    return {tile.size(), 2 * shape_.heads, shape_.head_width(), 2 * shape_.width};
  }
  kernels::ScoreShape scores_of(Range tile) const { return {tile.size(), shape_.heads, shape_.rank}; }

 private:
  AttentionArguments a_;
  AttentionShape shape_;
  TokenMask mask_;
  ReadTokens read_;
  PackedMatrix project_;
  at::Tensor project_bias_;
  ScoreWeights weights_;
  FoldedOutput folded_;
  PackedMatrix output_;
  at::Tensor out_bias_;
  at::Tensor lambda_e_, lambda_r_;
  at::Tensor token_weight_;
};

/// f(X) of tokens x [B, N, D]: the sampled rows, 0 for a sample without tokens. Undefined if the weights need none.
struct SampledRows {
  at::Tensor positions;  // [B or 1, n]
  at::Tensor rows;       // [B, n, D]
  at::Tensor empty;      // [B, 1, 1] bool: samples without tokens; undefined if no token can be left out

  SampledRows(const AttentionArguments& a, const at::Tensor& x);
  /// 0 for samples without tokens.
  at::Tensor without_empty(const at::Tensor& per_row) const {
    return empty.defined() ? per_row.masked_fill(empty, 0) : per_row;
  }
  /// x_grad [B, N, D] += gradient at the positions.
  void add_back(const at::Tensor& gradient, const at::Tensor& x_grad) const;
};

}  // namespace primal::ops::fused
