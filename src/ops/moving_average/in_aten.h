// The moving average in ATen calls, for devices without a kernel of ours.
#pragma once

#include "ops/moving_average/moving_average.h"

namespace primal::ops {

MovingAverage moving_average_in_aten(const MovingAverageArguments& arguments);
/// Without the share of the state after the last token.
MovingAverageGradients moving_average_gradients_in_aten(const MovingAverageArguments& arguments,
                                                        const at::Tensor& out_gradient);
/// Adds that share, on any device. state_gradient: [B, S, D] float64
void add_state_gradient(const MovingAverageArguments& arguments, const at::Tensor& state_gradient,
                        MovingAverageGradients& gradients);

}  // namespace primal::ops
