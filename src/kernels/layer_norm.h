// Layer norm of rows, and its gradient. Mean and deviation are computed again in the backward pass.
#pragma once

#include <cstdint>

namespace primal::kernels {

struct NormShape {
  int64_t rows, width;
  float epsilon;
};

/// out = (x - mean) / sqrt(variance + epsilon) * weight + bias. x and out may be the same.
void layer_norm(const float* x, NormShape shape, const float* weight, const float* bias, float* out);

/// x_gradient = (or += with `add`) the gradient for x; weight_gradient and bias_gradient [width] are added to.
/// gradient and x_gradient may be the same.
void layer_norm_backward(const float* x, NormShape shape, const float* weight, const float* gradient, bool add,
                         float* x_gradient, float* weight_gradient, float* bias_gradient);

}  // namespace primal::kernels
