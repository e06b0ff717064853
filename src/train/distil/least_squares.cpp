#include "train/distil/least_squares.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::train {

namespace {

constexpr double kRounding = 1e-14;  // smaller mean squares, as shares of the largest

at::Tensor zeros(at::IntArrayRef sizes) { return at::zeros(sizes, at::kDouble); }

}  // namespace

at::Tensor ridge_solution(const at::Tensor& gram, const at::Tensor& cross, double ridge) {
  const at::Tensor squares = gram.diagonal().clamp_min(0);
  const at::Tensor real = squares > kRounding * squares.max();  // others are constant, and get no weight
  const at::Tensor scale = at::where(real, squares.sqrt().reciprocal(), at::zeros_like(squares));
  at::Tensor scaled = gram * scale.unsqueeze(1) * scale.unsqueeze(0);
  scaled.diagonal().add_(ridge);
  const at::Tensor triangle = at::linalg_cholesky(scaled);
  return at::cholesky_solve(cross * scale.unsqueeze(1), triangle) * scale.unsqueeze(1);
}

LeastSquares::LeastSquares(int64_t features, int64_t targets, bool intercept)
    : intercept_(intercept),
      xx_(zeros({features, features})),
      xy_(zeros({features, targets})),
      x_(zeros({features})),
      y_(zeros({targets})) {}

void LeastSquares::add(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor features = x.to(at::kDouble), targets = y.to(at::kDouble);
  rows_ += x.size(0);
  xx_.addmm_(features.t(), features);
  xy_.addmm_(features.t(), targets);
  x_.add_(features.sum(0));
  y_.add_(targets.sum(0));
}

at::Tensor LeastSquares::gram() const {
  const auto rows = static_cast<double>(std::max<int64_t>(rows_, 1));
  return intercept_ ? xx_ / rows - at::outer(x_, x_) / (rows * rows) : xx_ / rows;
}

at::Tensor LeastSquares::cross() const {
  const auto rows = static_cast<double>(std::max<int64_t>(rows_, 1));
  return intercept_ ? xy_ / rows - at::outer(x_, y_) / (rows * rows) : xy_ / rows;
}

at::Tensor LeastSquares::intercept(const at::Tensor& weights) const {
  const auto rows = static_cast<double>(std::max<int64_t>(rows_, 1));
  return intercept_ ? (y_ - at::mv(weights.t(), x_)) / rows : at::zeros_like(y_);
}

}  // namespace primal::train
