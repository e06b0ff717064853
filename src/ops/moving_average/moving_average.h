// torch.ops.primal.moving_average from C++, through the dispatcher.
//
//   m_{i,t} = a_i m_{i,t-1} + x_t,  y_t = sum over i of w_i m_{i,t} + skip x_t,  a = exp(-1 / time scale)
#pragma once

#include "ops/moving_average/arguments.h"

namespace primal::ops {

struct MovingAverage {
  at::Tensor out;    // [B, N, D]; 0 at padded tokens
  at::Tensor state;  // [B, S, D] float64: the sums after the last token; [B, 0, D] with two directions
};

MovingAverage moving_average(const MovingAverageArguments& arguments);

struct MovingAverageGradients {
  at::Tensor x, log_scale, weight;
  at::Tensor skip, state;  // undefined where there is none
};

/// Not through the dispatcher. out_gradient: [B, N, D]; state_gradient: of the state after, [B, S, D] float64, or
/// undefined. The tensors of `arguments` may be what the dispatcher would hand to the CPU or to any other device.
MovingAverageGradients moving_average_gradients(const MovingAverageArguments& arguments, const at::Tensor& out_gradient,
                                                const at::Tensor& state_gradient);
/// The forward pass without the dispatcher, for operators that contain it.
MovingAverage moving_average_pass(const MovingAverageArguments& arguments);

}  // namespace primal::ops
