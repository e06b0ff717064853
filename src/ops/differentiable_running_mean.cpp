#include "ops/differentiable_running_mean.h"

#include <torch/csrc/autograd/custom_function.h>

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RunningMeanFunction : torch::autograd::Function<RunningMeanFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& padded) {
    context->saved_data["padded"] = padded;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return running_mean(x, padded);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto padded = context->saved_data["padded"].toOptional<at::Tensor>();
    return {running_mean_backward(gradients[0].contiguous(), padded), at::Tensor()};
  }
};

}  // namespace

at::Tensor differentiable_running_mean(const at::Tensor& x, const std::optional<at::Tensor>& padded) {
  return RunningMeanFunction::apply(x.contiguous(), padded);
}

}  // namespace primal::ops
