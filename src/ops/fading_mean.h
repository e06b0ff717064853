// Fading mean over time: what a causal attention with a memory that fades makes of q and k.
//
//   y_t = (sum over counted tokens j <= t of a^(c_t - c_j) x_j) / n_t,  n_t = 1 + a + ... + a^(c_t - 1)
//
// c_t counts the tokens so far that are not padded; a = exp(-exp(-log_scale)). a = 1 is the running mean, a = 0 the
// token itself. The sums are those of primal::moving_average.
#pragma once

#include "ops/running_mean.h"

namespace primal::ops {

/// x: [B, N, D] float32 or float64; log_scale: [G], G divides D and neighbouring channels share; padded: [B, N] bool:
/// such tokens are passed over, and 0 in the result. The state's sums are the fading ones.
at::Tensor fading_mean(const at::Tensor& x, const at::Tensor& log_scale, const std::optional<at::Tensor>& padded,
                       RunningState* state = nullptr);

struct FadingMeanGradients {
  at::Tensor x;          // [B, N, D]
  at::Tensor log_scale;  // [G] float64
};

/// For a pass that began without state. grad, mean: [B, N, D], of the result
FadingMeanGradients fading_mean_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                         const at::Tensor& log_scale, const std::optional<at::Tensor>& padded);

}  // namespace primal::ops
