// Small parameters and their gradients, for tests of optimizers.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace primal::tests {

using Values = std::vector<double>;

inline at::Tensor values(const Values& list, at::ScalarType type = at::kDouble) { return at::tensor(list, type); }

inline void set_gradient(at::Tensor parameter, const at::Tensor& gradient) { parameter.mutable_grad() = gradient; }

}  // namespace primal::tests
