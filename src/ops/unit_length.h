// u / max(|u|, 1e-12) along the last axis, and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

namespace primal::ops {

at::Tensor unit_length(const at::Tensor& u);
at::Tensor unit_length_backward(const at::Tensor& u, const at::Tensor& grad);

}  // namespace primal::ops
