// The row by row work of a softmax, over a large vocabulary or over the scores of an attention, and of its gradient.
//
//   const SoftmaxSums sums = softmax_exponentials(logits, count);      // logits are exp(logits - largest) now
//   scale_and_shift(logits, count, 1 / sums.exponentials, 0);          // ... and probabilities
#pragma once

#include <cstdint>

namespace primal::kernels {

struct SoftmaxSums {
  double largest;       ///< of the numbers x of the row
  double exponentials;  ///< sum of exp(x - largest); NaN if an x is
  double numbers;       ///< sum of x
};

/// x: at least one number.
SoftmaxSums softmax_sums(const float* x, int64_t count);

/// The same sums, to the last bit; and x = exp(x - largest).
SoftmaxSums softmax_exponentials(float* x, int64_t count);

/// What softmax_exponentials made of a row, made again as probabilities: x = exp((x - largest) - log_sum), log_sum
/// being the logarithm of the sum of exp(x - largest). In one number, largest would swallow the digits of log_sum.
void softmax_probabilities(float* x, int64_t count, float largest, float log_sum);

/// x = scale * x - shift.
void scale_and_shift(float* x, int64_t count, float scale, float shift);

/// From the gradient of the kept weights to that of their scores: gradient = kept * gradient - along * p. p: the
/// softmax of the row; kept: p after dropout, or p itself; along: sum of kept * gradient over the whole row.
void softmax_gradient(const float* p, const float* kept, float* gradient, int64_t count, float along);

}  // namespace primal::kernels
