#include "support/tensors.h"

#include <ATen/ATen.h>

namespace primal::tests {

testing::AssertionResult close(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  if (actual.sizes() != expected.sizes()) {
    return testing::AssertionFailure() << "shape " << actual.sizes() << " instead of " << expected.sizes();
  }
  const at::Tensor a = actual.detach().to(at::kDouble), e = expected.detach().to(at::kDouble);
  const at::Tensor off = ((a - e).abs() <= tolerance * (1 + e.abs())).logical_not();
  if (!off.any().item<bool>()) return testing::AssertionSuccess();
  const at::Tensor first = off.nonzero()[0];
  return testing::AssertionFailure() << off.sum().item<int64_t>() << " of " << off.numel() << " entries differ, first "
                                     << a.masked_select(off)[0].item<double>() << " instead of "
                                     << e.masked_select(off)[0].item<double>() << " at\n"
                                     << first;
}

testing::AssertionResult same(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.scalar_type() != expected.scalar_type()) {
    return testing::AssertionFailure() << actual.scalar_type() << " instead of " << expected.scalar_type();
  }
  return close(actual, expected, 0);
}

at::Tensor numeric_gradient(const std::function<double(const at::Tensor&)>& function, const at::Tensor& at) {
  constexpr double kStep = 1e-6;  // the cube root of double's precision, near the best for central differences
  at::Tensor gradient = at::zeros_like(at, at::MemoryFormat::Contiguous);
  for (int64_t i = 0; i < at.numel(); ++i) {
    const auto moved = [&](double step) {
      at::Tensor copy = at.detach().clone(at::MemoryFormat::Contiguous);
      copy.view(-1)[i] += step;
      return function(copy);
    };
    gradient.view(-1)[i] = (moved(kStep) - moved(-kStep)) / (2 * kStep);
  }
  return gradient;
}

double inner_product(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>();
}

}  // namespace primal::tests
