// The running mean as a step of autograd.
#pragma once

#include "ops/running_mean.h"

namespace primal::ops {

/// running_mean() from the first token on, with a gradient for x. x: [B, N, D] float32 or float64, padded: [B, N] bool.
at::Tensor differentiable_running_mean(const at::Tensor& x, const std::optional<at::Tensor>& padded);

}  // namespace primal::ops
