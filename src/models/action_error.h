// How far predicted actions are from those that were done.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace primal::models {

/// Mean of the squared differences over the steps that are not padded and over the numbers of an action. predicted,
/// done: [.., A]; padding: [..] bool, true = no step, whatever stands there, even NaN -> scalar; 0 without any step
at::Tensor action_error(const at::Tensor& predicted, const at::Tensor& done,
                        const std::optional<at::Tensor>& padding = {});

}  // namespace primal::models
