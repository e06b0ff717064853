// Running mean over time on tensors: our kernel on the CPU, ATen elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace primal::ops {

/// The sums and counts before the first token of x; updated in place to those after the last.
struct RunningState {
  at::Tensor sum;    ///< [B, D] float64
  at::Tensor count;  ///< [B] int64
};

/// Mean over the tokens so far that are not padded. x: [B, N, D] float32 or float64, padded: [B, N] bool.
at::Tensor running_mean(const at::Tensor& x, const std::optional<at::Tensor>& padded, RunningState* state = nullptr);

/// Gradient for x, for a pass that began without state. grad: [B, N, D]
at::Tensor running_mean_backward(const at::Tensor& grad, const std::optional<at::Tensor>& padded);

/// The same in ATen calls, for devices without a kernel of ours.
at::Tensor running_mean_in_aten(const at::Tensor& x, const std::optional<at::Tensor>& padded, RunningState& state);
at::Tensor running_mean_backward_in_aten(const at::Tensor& grad, const std::optional<at::Tensor>& padded);

}  // namespace primal::ops
