// Running mean over time, the token mixing of causal Primal-Attention, and its gradient.
//
// Sums are kept in double: a float sum over 10^5 tokens would lose the agreement with step-by-step decoding.
#pragma once

#include <cstdint>

namespace primal::kernels {

/// One sequence, `width` neighbouring channels of it. Rows of x and mean are `stride` elements apart.
struct RunningMeanShape {
  int64_t tokens;
  int64_t width;
  int64_t stride;
};

/// mean[t] = (sum + x[0] + ... + x[t]) / (count + number of tokens so far), padded tokens left out.
/// padded: [tokens], nonzero = leave out, or null. sum: [width] and count: the state before; the state after on return.
void running_mean(const float* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count, float* mean);
void running_mean(const double* x, const bool* padded, RunningMeanShape shape, double* sum, int64_t& count,
                  double* mean);

/// Gradient for a zero state before: dx[t] = sum over u >= t of dmean[u] / count[u], 0 at padded tokens.
/// carry: [width] of work space.
void running_mean_backward(const float* dmean, const bool* padded, RunningMeanShape shape, double* carry, float* dx);
void running_mean_backward(const double* dmean, const bool* padded, RunningMeanShape shape, double* carry, double* dx);

}  // namespace primal::kernels
