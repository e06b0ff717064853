// Tables for tests of kernel SVDs, and what a decomposition of the dense kernel matrix says of them.
#pragma once

#include <ATen/ATen.h>

#include <cmath>

#include "analysis/kernel_svd.h"

namespace primal::tests {

inline at::Tensor random_table(int64_t rows, int64_t columns, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({rows, columns}, at::kDouble);
}

/// How far singular values and vectors are from those of `matrix`, as a share of its largest singular value: of the
/// values, of K v - u sigma and K^T u - v sigma, and of U^T U and V^T V from 1.
struct SvdErrors {
  double values = 0, residual = 0, orthogonality = 0;
};

inline SvdErrors errors_of(const at::Tensor& matrix, const analysis::KernelSvd& svd, const at::Tensor& left,
                           const at::Tensor& right) {
  const at::Tensor exact = at::linalg_svdvals(matrix), values = svd.singular_values;
  const double largest = exact[0].item<double>();
  const at::Tensor scale = svd.scaled_values();
  const at::Tensor u = left / (scale * std::sqrt(static_cast<double>(matrix.size(0)))),
                   v = right / (scale * std::sqrt(static_cast<double>(matrix.size(1))));
  const at::Tensor one = at::eye(svd.rank(), at::kDouble);
  const auto largest_of = [](const at::Tensor& a, const at::Tensor& b) {
    return std::max(a.abs().max().item<double>(), b.abs().max().item<double>());
  };
  return {.values = (exact.narrow(0, 0, svd.rank()) - values).abs().max().item<double>() / largest,
          .residual = largest_of(at::mm(matrix, v) - u * values, at::mm(matrix.t(), u) - v * values) / largest,
          .orthogonality = largest_of(at::mm(u.t(), u) - one, at::mm(v.t(), v) - one)};
}

/// Of x, and of z or else x, which the decomposition is of.
inline SvdErrors errors_of(const analysis::KernelSvd& svd, const at::Tensor& x, const at::Tensor& z = {}) {
  const at::Tensor& other = z.defined() ? z : x;
  return errors_of(analysis::kernel_values(svd.kernel, x, other), svd,
                   analysis::FeatureMaker(svd, analysis::Side::left).of(x),
                   analysis::FeatureMaker(svd, analysis::Side::right).of(other));
}

}  // namespace primal::tests
