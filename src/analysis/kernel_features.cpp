#include "analysis/kernel_features.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/unit_length.h"

namespace primal::analysis {

namespace {

// Steps to the next non-decreasing list of numbers below `entries`; after the last one nothing is said.
void next_monomial(std::vector<int64_t>& factors, int64_t entries) {
  for (size_t i = factors.size(); i-- > 0;) {
    if (factors[i] + 1 < entries) {
      std::fill(factors.begin() + static_cast<std::ptrdiff_t>(i), factors.end(), factors[i] + 1);
      return;
    }
  }
}

// In how many orders the factors can be multiplied: degree! / (product of the factorials of how often each occurs).
double orders_of(const std::vector<int64_t>& factors) {
  double orders = 1;
  int64_t repeats = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    repeats = i > 0 && factors[i] == factors[i - 1] ? repeats + 1 : 1;
    orders *= static_cast<double>(i + 1) / static_cast<double>(repeats);
  }
  return orders;
}

}  // namespace

int64_t feature_count(const Kernel& kernel, int64_t width) {
  if (kernel.kind == KernelKind::linear || kernel.kind == KernelKind::cosine) return width <= kMostFeatures ? width : 0;
  if (kernel.kind != KernelKind::poly) return 0;
  const int64_t entries = width + (kernel.offset > 0 ? 1 : 0);
  int64_t count = 1;  // monomials of i factors
  for (int64_t i = 1; i <= kernel.degree; ++i) {
    if (entries > kMostFeatures) return 0;
    count = count * (entries + i - 1) / i;
    if (count > kMostFeatures) return 0;
    if (entries == 1) return 1;
  }
  return count;
}

FiniteFeatures::FiniteFeatures(const Kernel& kernel, int64_t width)
    : kernel_(kernel), count_(feature_count(kernel, width)) {
  if (count_ == 0) {
    throw Error("features: expected a kernel with at most " + std::to_string(kMostFeatures) + " features, got " +
                std::string(base::name_in(kKernelNames, kernel.kind)) + " of rows of " + std::to_string(width));
  }
  if (kernel.kind != KernelKind::poly) return;
  const int64_t entries = width + (kernel.offset > 0 ? 1 : 0);
  factors_ = at::empty({kernel.degree, count_}, at::kLong);
  weights_ = at::empty({count_}, at::kDouble);
  auto factors = factors_.accessor<int64_t, 2>();
  auto weights = weights_.accessor<double, 1>();
  std::vector<int64_t> monomial(static_cast<size_t>(kernel.degree), 0);
  for (int64_t i = 0; i < count_; ++i, next_monomial(monomial, entries)) {
    for (int64_t k = 0; k < kernel.degree; ++k) factors[k][i] = monomial[static_cast<size_t>(k)];
    weights[i] = std::sqrt(orders_of(monomial));
  }
}

at::Tensor FiniteFeatures::of(const at::Tensor& x) const {
  if (kernel_.kind == KernelKind::linear) return x;
  if (kernel_.kind == KernelKind::poly) return monomials_of(x);
  return ops::unit_length(x);
}

at::Tensor FiniteFeatures::monomials_of(const at::Tensor& x) const {
  at::Tensor entries = x / kernel_.width;
  if (kernel_.offset > 0) {
    entries = at::cat({entries, at::full({x.size(0), 1}, std::sqrt(kernel_.offset), x.options())}, 1);
  }
  at::Tensor product = entries.index_select(1, factors_[0]).mul_(weights_.to(x.scalar_type()));
  for (int64_t k = 1; k < kernel_.degree; ++k) product.mul_(entries.index_select(1, factors_[k]));
  return product;
}

}  // namespace primal::analysis
