#include "analysis/truncated_svd.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "base/random.h"

namespace primal::analysis {

namespace {

constexpr int64_t kSmall = 1500;      // of this smaller side the whole decomposition takes seconds
constexpr int64_t kOversampling = 8;  // directions beside those wanted, which converge sooner for it
constexpr double kTolerance = 1e-10;

TruncatedSvd whole_svd(const at::Tensor& matrix, int64_t rank) {
  const auto [u, values, vt] = at::linalg_svd(matrix, /*full_matrices=*/false);
  return {u.narrow(1, 0, rank).contiguous(), values.narrow(0, 0, rank).contiguous(),
          vt.narrow(0, 0, rank).t().contiguous()};
}

at::Tensor random_block(int64_t rows, int64_t columns) {
  base::Random random(1);
  at::Tensor block = at::empty({rows, columns}, at::kDouble);
  double* values = block.data_ptr<double>();
  std::generate(values, values + block.numel(), [&] { return random.normal(); });
  return block;
}

// An orthonormal basis of what the block has beside `basis`; twice, since the first time leaves rounding errors.
at::Tensor new_directions(const at::Tensor& basis, at::Tensor block) {
  for (int time = 0; time < 2; ++time) {
    block = block - at::mm(basis, at::mm(basis.t(), block));
    block = std::get<0>(at::linalg_qr(block));
  }
  return block;
}

// The best that a basis [m, k] of right vectors has; image = matrix basis.
TruncatedSvd best_within(const at::Tensor& basis, const at::Tensor& image, int64_t rank) {
  const auto [q, triangle] = at::linalg_qr(image);
  const auto [left, values, right] = at::linalg_svd(triangle, false);
  return {at::mm(q, left.narrow(1, 0, rank)), values.narrow(0, 0, rank).contiguous(),
          at::mm(basis, right.narrow(0, 0, rank).t())};
}

bool fits(const at::Tensor& matrix, const TruncatedSvd& svd) {
  const at::Tensor rest = at::mm(matrix.t(), svd.u).sub_(svd.v * svd.values);
  return at::linalg_vector_norm(rest, 2, 0).max().item<double>() <= kTolerance * svd.values[0].item<double>();
}

// Nothing if half of all directions are not enough. matrix: n >= m
std::optional<TruncatedSvd> krylov_svd(const at::Tensor& matrix, int64_t rank) {
  const int64_t size = rank + kOversampling;
  at::Tensor block = std::get<0>(at::linalg_qr(random_block(matrix.size(1), size)));
  at::Tensor basis = block, image = at::mm(matrix, block);
  while (basis.size(1) + size <= matrix.size(1) / 2) {
    block = new_directions(basis, at::mm(matrix.t(), image.narrow(1, image.size(1) - size, size)));
    basis = at::cat({basis, block}, 1);
    image = at::cat({image, at::mm(matrix, block)}, 1);
    TruncatedSvd svd = best_within(basis, image, rank);
    if (fits(matrix, svd)) return svd;
  }
  return std::nullopt;
}

}  // namespace

TruncatedSvd truncated_svd(const at::Tensor& matrix, int64_t rank) {
  const int64_t smaller = std::min(matrix.size(0), matrix.size(1));
  if (smaller <= kSmall || 8 * rank > smaller) return whole_svd(matrix, rank);
  if (matrix.size(0) < matrix.size(1)) {
    TruncatedSvd svd = truncated_svd(matrix.t(), rank);
    return {svd.v, svd.values, svd.u};
  }
  if (auto found = krylov_svd(matrix, rank)) return *found;
  return whole_svd(matrix, rank);
}

void fix_signs(at::Tensor& a, at::Tensor& b) {
  const at::Tensor largest = a.gather(0, a.abs().argmax(0, /*keepdim=*/true));  // [1, r]
  const at::Tensor signs = at::where(largest < 0, -at::ones_like(largest), at::ones_like(largest));
  a = a * signs;
  b = b * signs;
}

}  // namespace primal::analysis
