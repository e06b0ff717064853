#include "analysis/truncated_svd.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/kernel_tables.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using tests::random_table;

at::Tensor orthonormal(int64_t rows, int64_t columns, uint64_t seed) {
  return std::get<0>(at::linalg_qr(random_table(rows, columns, seed)));
}

// u diag(values) v^T
struct Made {
  at::Tensor u, values, v;
  Made(int64_t rows, int64_t columns, const at::Tensor& made_values)
      : u(orthonormal(rows, made_values.size(0), 1)),
        values(made_values),
        v(orthonormal(columns, made_values.size(0), 2)) {}
  at::Tensor matrix() const { return at::mm(u * values, v.t()); }
};

void expect_first(const TruncatedSvd& svd, const Made& made, int64_t rank, double tolerance) {
  EXPECT_TRUE(close(svd.values, made.values.narrow(0, 0, rank), tolerance));
  const auto overlap = [&](const at::Tensor& a, const at::Tensor& b) {
    return at::mm(a.t(), b.narrow(1, 0, rank)).abs();
  };
  EXPECT_TRUE(close(overlap(svd.u, made.u), at::eye(rank, at::kDouble), 1e-7));
  EXPECT_TRUE(close(overlap(svd.v, made.v), at::eye(rank, at::kDouble), 1e-7));
}

TEST(TruncatedSvd, OfSmallMatricesIsTheBeginningOfTheWhole) {
  const Made made(30, 20, at::linspace(2, 0.1, 20, at::kDouble));
  expect_first(truncated_svd(made.matrix(), 4), made, 4, 1e-13);
  expect_first(truncated_svd(made.matrix().t().contiguous().t(), 20), made, 20, 1e-13);
}

// Above the size that is decomposed as a whole: singular values that fall slowly, on either side of a square.
TEST(TruncatedSvd, OfLargeMatricesIsTheSame) {
  const at::Tensor falling = at::arange(60, at::kDouble).mul(-0.05).exp();
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1800, 1600}, {1600, 1800}}) {
    const Made made(rows, columns, falling);
    expect_first(truncated_svd(made.matrix(), 6), made, 6, 1e-12);
  }
}

TEST(TruncatedSvd, OfALargeMatrixOfLowRankEndsInZeros) {
  const Made made(1600, 1600, at::tensor({3.0, 2.0}, at::kDouble));
  const TruncatedSvd svd = truncated_svd(made.matrix(), 4);
  EXPECT_TRUE(close(svd.values, at::tensor({3.0, 2.0, 0.0, 0.0}, at::kDouble), 1e-12));
  EXPECT_TRUE(close(at::mm(svd.u.t(), svd.u), at::eye(4, at::kDouble), 1e-12));
}

TEST(TruncatedSvd, OfZerosIsZero) {
  EXPECT_TRUE(close(truncated_svd(at::zeros({1600, 1600}, at::kDouble), 2).values, at::zeros({2}, at::kDouble), 0));
}

TEST(TruncatedSvd, SignsAreFixedByTheLargestEntry) {
  at::Tensor a = at::tensor({1.0, -3.0, 2.0, 0.5}, at::kDouble).view({2, 2}), b = at::ones({1, 2}, at::kDouble);
  fix_signs(a, b);
  EXPECT_TRUE(close(a, at::tensor({1.0, 3.0, 2.0, -0.5}, at::kDouble).view({2, 2}), 0));
  EXPECT_TRUE(close(b, at::tensor({1.0, -1.0}, at::kDouble).view({1, 2}), 0));
}

}  // namespace
}  // namespace primal::analysis
