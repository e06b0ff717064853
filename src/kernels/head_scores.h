// Row by row work of the cosine feature map around the score products.
//
// Lengths: x holds rows of `heads` neighbouring pieces of `width` channels. Scores: a row holds, for head 0, 1, ...,
// first e, then r, each `rank` numbers, which is the order of the rows of the folded output matrix.
#pragma once

#include <cstdint>

namespace primal::kernels {

struct HeadShape {
  int64_t rows, heads, width;
  int64_t stride;  ///< between rows
};

/// inverse[i * heads + h] = 1 / max(|x_ih|, 1e-12), the published clamp.
void inverse_lengths(const float* x, HeadShape shape, float* inverse);

/// out_ih = -factor[i * heads + h] * x_ih. out has rows out_stride apart.
void negated_multiples(const float* x, HeadShape shape, const float* factor, float* out, int64_t out_stride);

struct ScoreShape {
  int64_t rows, heads, rank;
  int64_t row_width() const { return 2 * heads * rank; }
};

/// first[i] = sum over j of first_weight[j] * scores[i, j]^2, second likewise: the KSVD terms of a token.
void weighted_squares(const float* scores, ScoreShape shape, const float* first_weight, const float* second_weight,
                      float* first, float* second);

/// sums[j] += sum over i of scores[i, j]^2.
void add_squares(const float* scores, ScoreShape shape, float* sums);

/// The gradient of the scores becomes that of the unnormalised scores q We|X:
///   gradient += slope * scores;  along = <scores, gradient> * inverse^2 per piece;  gradient *= inverse.
/// inverse, along: [rows, 2 * heads], all heads of q, then all of k. slope: [row_width]. along is 0 where the length
/// was clamped: there the divisor is a constant.
void score_gradient(const float* scores, ScoreShape shape, const float* slope, const float* inverse, float* gradient,
                    float* along);

/// sums[j] += sum over i of x[i, j].
void add_column_sums(const float* x, int64_t rows, int64_t width, int64_t stride, float* sums);

/// sum[i] += x[i].
inline void add(const float* x, int64_t count, float* sum) { add_column_sums(x, 1, count, count, sum); }

}  // namespace primal::kernels
