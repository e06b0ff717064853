// The gradients of AttentionPass: per tile what stays in cache, per chunk the gradients of the weights.
#pragma once

#include "ops/fused/attention_pass.h"

namespace primal::ops::fused {

/// Of the KSVD terms of each sample, [B].
struct TermGradients {
  at::Tensor le, lr, tr;
};

/// Gradients of the parameters; undefined where there is no parameter.
struct ParameterGradients {
  at::Tensor q_weight, q_bias, k_weight, k_bias, we, wr, lam, score_weight, score_bias, out_weight, out_bias;
  at::Tensor log_scale;
};

class AttentionGradients {
 public:
  AttentionGradients(const AttentionPass& pass, TermGradients terms);

  /// Work space of a chunk of at most `tokens` tokens.
  struct Chunk {
    at::Tensor scores;              // [C, 2 H s]: rows of the tokens that are read
    at::Tensor score_gradient;      // [C, 2 H s], of q We|X before the division by the length
    at::Tensor projected_gradient;  // [C, 2D]
  };
  Chunk chunk_space(int64_t tokens) const;

  /// One tile of the chunk that begins at `start`. projected: [T, 2D]; out_gradient: [D] per token that is read,
  /// already 0 at padded ones; index: of the tile, counted from token 0. -> x_gradient [T, D], without the share of the
  /// sampled rows
  void tile(Range tile, int64_t index, const float* projected, const float* out_gradient, const Chunk& chunk,
            int64_t start, float* x_gradient);
  /// Its halves, for what lies between projection and scores: to the chunk's projected_gradient, and on from one.
  void tile_of_scores(Range tile, int64_t index, const float* projected, const float* out_gradient, const Chunk& chunk,
                      int64_t start);
  void tile_of_projection(Range tile, int64_t index, const float* projected_gradient, float* x_gradient);
  /// After all tiles of the chunk. x: [C, D], 0 at tokens that are left out; the others as above, for the whole chunk.
  /// products: others that are to be computed in the same go.
  void chunk(Range range, const float* x, const float* projected, const float* out_gradient, const Chunk& chunk,
             std::vector<OuterProduct> products = {});
  /// Its halves.
  void chunk_of_scores(Range range, const float* projected, const float* out_gradient, const Chunk& chunk,
                       std::vector<OuterProduct> products = {});
  void chunk_of_projection(Range range, const float* x, const float* projected_gradient) {
    const OuterProduct product = projection_product(range, x, projected_gradient);
    add_outer_products({&product, 1});
  }
  /// After all chunks. out_bias: the sum over tokens of the gradient that the output projection's bias saw.
  /// rows_gradient [B, n, D] becomes that of f(X), if the weights depend on data.
  ParameterGradients finish(const at::Tensor& rows, const at::Tensor& out_bias, at::Tensor* rows_gradient);

 private:
  void output_tile(Range tile, const float* out_gradient, float* gradient) const;
  OuterProduct projection_product(Range range, const float* x, const float* projected_gradient) const;
  void score_tile(Range tile, int64_t index, const float* scores, const float* inverse, float* gradient, float* along);
  void through_rows(const at::Tensor& rows, at::Tensor* rows_gradient, ParameterGradients& g);

  const AttentionPass& pass_;
  TermGradients terms_;
  PackedMatrix project_back_;  // [2D -> D]
  PackedMatrix output_back_;   // [D -> 2 H s]
  at::Tensor weights_back_;    // We|X^T, Wr|X^T packed
  at::Tensor slope_;           // [B, 2 H s]: derivative of the terms by a score, over that score
  at::Tensor half_weight_;     // [B, 2 H s]: 1/2 grad * token weight, the share of a squared score in Lambda's gradient
  at::Tensor q_k_weight_;      // [2D, D]
  at::Tensor folded_;          // [2 H s, D]
  at::Tensor weights_x_;       // [B or 1, 2, H, d, s]
  at::Tensor tile_bias_;       // [tiles, 2D]
  at::Tensor tile_out_bias_;   // [tiles, D]: of the folded bias
  at::Tensor tile_lambda_;     // [tiles, 2 H s]
};

}  // namespace primal::ops::fused
