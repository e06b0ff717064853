#include "ops/unit_length.h"

#include <ATen/ATen.h>

namespace primal::ops {

namespace {
// The published code's clamp (SPEC 1.0), also in double.
constexpr double kSmallest = 1e-12;
}  // namespace

at::Tensor unit_length(const at::Tensor& u) { return u / u.norm(2, -1, /*keepdim=*/true).clamp_min(kSmallest); }

// For |u| above the clamp: (grad - f <f, grad>) / |u| with f = u / |u|; below it the divisor is constant.
at::Tensor unit_length_backward(const at::Tensor& u, const at::Tensor& grad) {
  const at::Tensor length = u.norm(2, -1, /*keepdim=*/true);
  const at::Tensor divisor = length.clamp_min(kSmallest);
  const at::Tensor f = u / divisor;
  const at::Tensor along = (f * grad).sum(-1, /*keepdim=*/true) * (length >= kSmallest);
  return (grad - f * along) / divisor;
}

}  // namespace primal::ops
