// Ridge least squares from sums over rows: the rows themselves are not kept.
//
//   LeastSquares sums(features, targets, /*intercept=*/true);
//   sums.add(x, y);                                   // [T, features], [T, targets]; as often as there are rows
//   const at::Tensor weights = sums.solve(1e-6);      // y ~ x weights + sums.intercept(weights)
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace primal::train {

/// gram [f, f] and cross [f, t]: means of x x^T and x y^T. -> [f, t], the weights of least squares. `ridge` is added to
/// the diagonal once every feature has been scaled to a mean square of 1: it does not matter how large features are.
at::Tensor ridge_solution(const at::Tensor& gram, const at::Tensor& cross, double ridge);

/// All in double.
class LeastSquares {
 public:
  LeastSquares(int64_t features, int64_t targets, bool intercept);

  void add(const at::Tensor& x, const at::Tensor& y);

  int64_t rows() const { return rows_; }
  /// Means over the rows, of deviations from the mean where there is an intercept. [f, f], [f, t]
  at::Tensor gram() const;
  at::Tensor cross() const;
  at::Tensor solve(double ridge) const { return ridge_solution(gram(), cross(), ridge); }
  /// [t], zeros without one.
  at::Tensor intercept(const at::Tensor& weights) const;

 private:
  bool intercept_;
  int64_t rows_ = 0;
  at::Tensor xx_, xy_, x_, y_;  // sums
};

}  // namespace primal::train
