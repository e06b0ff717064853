// What all tiles of a Primal-Attention pass share: packed projections, the folded output matrix, We|X and Wr|X.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/attention/arguments.h"
#include "ops/fused/packed_matrix.h"
#include "ops/fused/tiles.h"

namespace primal::ops::fused {

struct AttentionShape {
  int64_t batch, tokens, width, heads, rank;

  explicit AttentionShape(const AttentionArguments& a)
      : batch(a.query.size(0)),
        tokens(a.query.size(1)),
        width(a.query.size(2)),
        heads(a.we.size(0)),
        rank(a.we.size(2)) {}
  int64_t head_width() const { return width / heads; }
  int64_t scores() const { return 2 * heads * rank; }  // per token: e and r of head 0, of head 1, ...
  int64_t all_tokens() const { return batch * tokens; }
};

/// The matrices We|X and Wr|X of every sample (or of all) and head.
struct ScoreWeights {
  at::Tensor plain;   // [B or 1, 2, H, d, s]: We|X, then Wr|X
  at::Tensor packed;  // [B or 1, 2, H, packed size]

  /// rows: [B, n, D], the rows f(X); undefined when the weights do not depend on data.
  ScoreWeights(const AttentionArguments& a, const AttentionShape& shape, const at::Tensor& rows);
  /// For the product with the transposed matrix.
  at::Tensor packed_transposed() const;

  const float* at(const at::Tensor& packed_matrices, int64_t sample, int64_t side, int64_t head) const;
};

/// score_proj and out_proj as one matrix: output = scores * folded^T + bias.
struct FoldedOutput {
  at::Tensor matrix;  // [D, 2 H s]
  at::Tensor bias;    // [D]

  FoldedOutput(const AttentionArguments& a, const AttentionShape& shape);
};

struct FoldedGradients {
  at::Tensor score_weight, score_bias, out_weight;
};

/// matrix: [2 H s, D], the gradient of the transposed folded matrix; bias: [D], that of its bias.
FoldedGradients unfold(const AttentionArguments& a, const AttentionShape& shape, const at::Tensor& matrix,
                       const at::Tensor& bias);

/// q_bias and k_bias, [2D]; undefined when there is none.
at::Tensor joined_bias(const AttentionArguments& a);

/// Lambda at the places of e (side 0) or of r (side 1) in a row of scores, 0 elsewhere. [2 H s]
at::Tensor lambda_of_side(const AttentionArguments& a, int64_t side);

}  // namespace primal::ops::fused
