#include "models/action_error.h"

#include <ATen/ATen.h>

namespace primal::models {

at::Tensor action_error(const at::Tensor& predicted, const at::Tensor& done, const std::optional<at::Tensor>& padding) {
  const at::Tensor difference = predicted - done;
  if (!padding) return difference.square().mean();
  const at::Tensor numbers = padding->logical_not().sum() * difference.size(-1);
  // Before the square, whose gradient would be NaN where the difference is.
  return difference.masked_fill(padding->unsqueeze(-1), 0).square().sum() / numbers.clamp_min(1);
}

}  // namespace primal::models
