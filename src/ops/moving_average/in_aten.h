// The moving average in ATen calls, for devices without a kernel of ours.
#pragma once

#include "ops/moving_average/moving_average.h"

namespace primal::ops {

MovingAverage moving_average_in_aten(const MovingAverageArguments& arguments);
MovingAverageGradients moving_average_gradients_in_aten(const MovingAverageArguments& arguments,
                                                        const at::Tensor& out_gradient,
                                                        const at::Tensor& state_gradient);

}  // namespace primal::ops
