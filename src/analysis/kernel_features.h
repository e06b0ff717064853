// Features phi of kernels that have finitely many: kappa(x, z) = phi(x).phi(z).
//
//   const Kernel kernel{.kind = KernelKind::poly, .degree = 2};
//   const FiniteFeatures phi(kernel, x.size(1));
//   at::Tensor values = at::mm(phi.of(x), phi.of(z).t());  // kernel_values(kernel, x, z)
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "analysis/kernel_functions.h"

namespace primal::analysis {

inline constexpr int64_t kMostFeatures = 4096;
/// Of rows of `width` numbers; 0 if there is no finite number, or more than kMostFeatures.
int64_t feature_count(const Kernel& kernel, int64_t width);

class FiniteFeatures {
 public:
  /// Throws Error if there are none.
  FiniteFeatures(const Kernel& kernel, int64_t width);
  int64_t count() const { return count_; }
  /// x: [k, d], float32 or float64. [k, count]; may be x itself
  at::Tensor of(const at::Tensor& x) const;

 private:
  at::Tensor monomials_of(const at::Tensor& x) const;

  Kernel kernel_;
  int64_t count_;
  at::Tensor factors_;  // [degree, count]: which entries of (x / width, sqrt(offset)) are multiplied
  at::Tensor weights_;  // [count] float64: square roots of multinomial coefficients
};

}  // namespace primal::analysis
