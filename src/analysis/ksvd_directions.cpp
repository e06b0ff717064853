#include "analysis/ksvd_directions.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::analysis {

namespace {

using at::Tensor;

// directions [H, p, s] with a rotation of the columns and a norm that bring the scores triangle directions closest to
// triangle own: the rotation of Procrustes.
Tensor turned_to(const Tensor& triangle, const Tensor& directions, const Tensor& own) {
  const Tensor scores = at::matmul(triangle, directions), wanted = at::matmul(triangle, own);
  auto [left, values, right] = at::linalg_svd(at::matmul(scores.transpose(-2, -1), wanted), /*full_matrices=*/false);
  const auto norm = [](const Tensor& x) { return x.square().sum({-2, -1}, /*keepdim=*/true).sqrt(); };
  const Tensor length = norm(scores);
  const Tensor scale = at::where(length > 0, norm(wanted) / length, at::zeros_like(length));
  return at::matmul(directions, at::matmul(left, right)) * scale;
}

// The first s columns; zeros where there are fewer.
Tensor first_columns(const Tensor& x, int64_t s) {
  const int64_t there = std::min(s, x.size(-1));
  return at::constant_pad_nd(x.narrow(-1, 0, there), {0, s - there});
}

// F^T F x
Tensor squared_through(const KsvdFactors& factors, const Tensor& x) {
  if (!factors.f.defined()) return x;
  const Tensor f = factors.f[0];
  return at::matmul(f.transpose(-2, -1), at::matmul(f, x));
}

// E = U S and R = V S.
KsvdDirections best_pairs(const KsvdFactors& factors, int64_t rank) {
  const auto made = [&](const Tensor& triangle, const Tensor& vectors) {
    return squared_through(factors, at::matmul(triangle.transpose(-2, -1), first_columns(vectors, rank)));
  };
  return {made(factors.k[0], factors.right[0]), made(factors.q[0], factors.left[0])};
}

}  // namespace

KsvdDirections other_directions(const KsvdFactors& factors, const KsvdDirections& own, InsteadOfScores instead,
                                at::Generator& generator) {
  if (instead == InsteadOfScores::none) return {at::zeros_like(own.we), at::zeros_like(own.wr)};
  const auto random = [&] { return at::randn(own.we.sizes(), generator, at::kDouble); };
  KsvdDirections other;
  if (instead == InsteadOfScores::best_pairs) {
    other = best_pairs(factors, own.we.size(-1));
  } else {
    other.we = random();
    other.wr = random();
  }
  return {turned_to(factors.q[0], other.we, own.we), turned_to(factors.k[0], other.wr, own.wr)};
}

}  // namespace primal::analysis
