#include "analysis/primal_ksvd.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <cmath>

#include "analysis/row_triangle.h"
#include "analysis/truncated_svd.h"

namespace primal::analysis {

namespace {

// Up to here the p x p matrices are decomposed on one thread: the bits are then the same with any number of them.
constexpr int64_t kQuickFeatures = 512;

// work() on a matrix of p x p.
template <typename Work>
void on_core(int64_t p, const Work& work) {
  p <= kQuickFeatures ? on_one_thread(work) : work();
}

// Phi^T Phi, [p, p] float64. In float32 the products of a block are, and the sum over blocks is not.
at::Tensor gram_of(const FiniteFeatures& phi, const Rows& rows, at::ScalarType dtype) {
  const int64_t p = phi.count(), size = rows_per_block(p);
  const auto add = [&](at::Tensor& sum, int64_t first, int64_t count) {
    const at::Tensor features = phi.of(rows.block(first, count, dtype));
    if (!sum.defined()) {
      sum = at::mm(features.t(), features).to(at::kDouble);
    } else if (dtype == at::kDouble) {
      sum.addmm_(features.t(), features);
    } else {
      sum.add_(at::mm(features.t(), features));
    }
  };
  const auto merge = [](at::Tensor& sum, const at::Tensor& other) { sum.add_(other); };
  return reduce_blocks(rows.count(), size, {.add = add, .merge = merge, .numbers = p * p});
}

// The triangle R of Phi = Q R, padded to [p, p]. It costs several times as much as Phi^T Phi, and keeps the digits of
// directions that are weak in one table.
at::Tensor feature_triangle(const FiniteFeatures& phi, const Rows& rows) {
  const int64_t p = phi.count(), size = rows_per_block(p);
  const auto take_in = [](at::Tensor& triangle, const at::Tensor& more) {
    triangle = row_triangle(triangle.defined() ? at::cat({triangle, more}) : more);
  };
  const auto add = [&](at::Tensor& triangle, int64_t first, int64_t count) {
    take_in(triangle, phi.of(rows.block(first, count, at::kDouble)));
  };
  at::Tensor triangle = reduce_blocks(rows.count(), size, {.add = add, .merge = take_in, .numbers = p * p});
  return at::constant_pad_nd(triangle, {0, 0, 0, p - triangle.size(0)});
}

// Eigenvalues, falling, and vectors of a symmetric matrix whose eigenvalues are not negative but for rounding.
struct Eigen {
  at::Tensor values, vectors;
  at::Tensor root() const { return vectors * values.sqrt(); }  // root root^T = matrix
};

Eigen eigen_of(const at::Tensor& matrix) {
  const auto [values, vectors] = at::linalg_eigh(matrix);
  return {values.flip(0).clamp_min_(0), vectors.flip(1)};
}

void check_finite(const at::Tensor& gram) {
  if (std::isfinite(gram.sum().item<double>())) return;
  throw Error(
      "kernel SVD: expected kernel values that double precision can hold, got larger ones; smaller numbers, "
      "standardised columns or a lower degree help");
}

// Below this share of the largest possible value, a singular value from Phi^T Phi and Psi^T Psi has lost digits:
// squaring costs about epsilon / share of that value.
double least_share(at::ScalarType dtype) { return dtype == at::kDouble ? 5e-4 : 1e-2; }

struct Roots {
  at::Tensor of_rows, of_columns;  // Phi^T Phi = root root^T
};

// K's singular values, and its vectors in the bases of Phi and Psi.
TruncatedSvd core_svd(const Roots& roots, int64_t rank) {
  return truncated_svd(at::mm(roots.of_rows.t(), roots.of_columns), rank);
}

void solve_two(KernelSvd& svd, const FiniteFeatures& phi, const Rows& rows, const Rows& columns, int64_t rank,
               at::ScalarType dtype) {
  const at::Tensor gram = gram_of(phi, rows, dtype), other = gram_of(phi, columns, dtype);
  check_finite(gram + other);
  svd.energy = gram.mul(other).sum().item<double>();
  Roots roots;
  TruncatedSvd core;
  double largest = 0;  // that K could have
  on_core(phi.count(), [&] {
    const Eigen of_rows = eigen_of(gram), of_columns = eigen_of(other);
    roots = {of_rows.root(), of_columns.root()};
    core = core_svd(roots, rank);
    largest = std::sqrt(of_rows.values[0].item<double>()) * std::sqrt(of_columns.values[0].item<double>());
  });
  if (core.values[rank - 1].item<double>() < least_share(dtype) * largest) {
    roots = {feature_triangle(phi, rows).t(), feature_triangle(phi, columns).t()};
    on_core(phi.count(), [&] { core = core_svd(roots, rank); });
  }
  svd.singular_values = core.values;
  svd.left_weights = at::mm(roots.of_columns, core.v) / std::sqrt(static_cast<double>(svd.columns));
  svd.right_weights = at::mm(roots.of_rows, core.u) / std::sqrt(static_cast<double>(svd.rows));
}

void solve_one(KernelSvd& svd, const FiniteFeatures& phi, const Rows& rows, int64_t rank, at::ScalarType dtype) {
  const at::Tensor gram = gram_of(phi, rows, dtype);
  check_finite(gram);
  svd.energy = gram.square().sum().item<double>();
  Eigen eigen;
  on_core(phi.count(), [&] { eigen = eigen_of(gram); });
  svd.singular_values = eigen.values.narrow(0, 0, rank).contiguous();
  svd.left_weights = eigen.root().narrow(1, 0, rank) / std::sqrt(static_cast<double>(svd.rows));
  svd.right_weights = svd.left_weights;
}

}  // namespace

void solve_primal(KernelSvd& svd, const Rows& rows, const Rows& columns, int64_t rank, at::ScalarType dtype) {
  const FiniteFeatures phi(svd.kernel, svd.inputs);
  svd.one_table ? solve_one(svd, phi, rows, rank, dtype) : solve_two(svd, phi, rows, columns, rank, dtype);
  fix_signs(svd.left_weights, svd.right_weights);
}

}  // namespace primal::analysis
