#include "analysis/asymmetric_nystrom.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "analysis/row_triangle.h"
#include "analysis/truncated_svd.h"
#include "base/random.h"

namespace primal::analysis {

namespace {

constexpr uint64_t kRowSample = 1, kColumnSample = 2;  // purposes
// A direction of less than this share of the first is not divided by.
constexpr double kSmallestShare = 1e-10;

at::Tensor kept_of(const KernelSvd& svd, const Rows& table, const at::Tensor& numbers) {
  if (svd.kernel.kind == KernelKind::matrix) return numbers;
  const bool is_whole = numbers.size(0) == table.count();
  const Rows kept{.values = is_whole ? table.values : table.values.index_select(0, numbers),
                  .mean = table.mean,
                  .factor = table.factor};
  return kept.block(0, kept.count(), at::kDouble).contiguous();
}

// [n', m'] float64
at::Tensor kept_values(const KernelSvd& svd, const Rows& rows) {
  if (svd.kernel.kind == KernelKind::matrix) {
    const at::Tensor of_rows = svd.sampled ? rows.values.index_select(0, svd.kept_rows) : rows.values;
    return values_with_columns(svd, of_rows).to(at::kDouble);
  }
  const at::Tensor values = at::empty({svd.kept_rows.size(0), svd.kept_columns.size(0)}, at::kDouble);
  constexpr int64_t kRowsOfABlock = 256;
  for_blocks(values.size(0), kRowsOfABlock, [&](int64_t first, int64_t count) {
    values.narrow(0, first, count).copy_(values_with_columns(svd, svd.kept_rows.narrow(0, first, count)));
  });
  return values;
}

// |K|^2 from its kept values. Of one table the diagonal is sampled more densely than the rest.
double energy_of(const KernelSvd& svd, const at::Tensor& values) {
  const double n = static_cast<double>(svd.rows), m = static_cast<double>(svd.columns);
  const double kept_n = static_cast<double>(values.size(0)), kept_m = static_cast<double>(values.size(1));
  const double all = values.square().sum().item<double>();
  if (!svd.sampled) return all;
  if (!svd.one_table) return all * (n / kept_n) * (m / kept_m);
  const double diagonal = values.diagonal().square().sum().item<double>();
  if (kept_n < 2) return diagonal * n;
  return diagonal * (n / kept_n) + (all - diagonal) * (n / kept_n) * ((n - 1) / (kept_n - 1));
}

// The triangle of the features of all rows, [r, r].
at::Tensor triangle_over_all(const KernelSvd& svd, Side side, const at::Tensor& table) {
  at::Tensor triangle;
  FeatureMaker(svd, side).give(table, /*in_double=*/true, [&](const at::Tensor& features) {
    triangle = row_triangle(triangle.defined() ? at::cat({triangle, features}) : features);
  });
  return triangle;
}

// The sampled decomposition says K = E Lambda^-1 R^T with features E and R. Its true singular vectors come from E = Q_e
// T_e, R = Q_r T_r and the small matrix T_e Lambda^-1 T_r^T; the first `rank` of them stay.
void orthogonalise(KernelSvd& svd, const at::Tensor& rows, const at::Tensor& columns, int64_t rank) {
  const at::Tensor lambda = svd.scaled_values();
  const at::Tensor inverse =
      at::where(lambda > kSmallestShare * lambda[0], lambda.reciprocal(), at::zeros_like(lambda));
  const at::Tensor of_left = triangle_over_all(svd, Side::left, rows);
  const at::Tensor of_right = svd.is_symmetric() ? of_left : triangle_over_all(svd, Side::right, columns);
  const TruncatedSvd core = truncated_svd(at::mm(of_left * inverse, of_right.t()), rank);
  const at::Tensor turn_left = at::mm((of_right * inverse).t(), core.v) / std::sqrt(static_cast<double>(svd.columns));
  const at::Tensor turn_right = at::mm((of_left * inverse).t(), core.u) / std::sqrt(static_cast<double>(svd.rows));
  svd.singular_values = core.values;
  svd.left_weights = at::mm(svd.left_weights, turn_left);
  svd.right_weights = svd.is_symmetric() ? svd.left_weights : at::mm(svd.right_weights, turn_right);
}

}  // namespace

int64_t sample_size(int64_t n, double share) {
  return std::clamp<int64_t>(std::llround(share * static_cast<double>(n)), 1, n);
}

int64_t extended_rank(int64_t rank, int64_t n, int64_t m) {
  constexpr int64_t kMore = 16;
  return std::min({2 * rank + kMore, n, m});
}

// Knuth's selection sampling: one pass, and the numbers come in order.
at::Tensor sample_of(int64_t n, int64_t size, uint64_t seed, uint64_t purpose) {
  if (size == n) return at::arange(n, at::kLong);
  base::Random random = base::Random::numbered(seed, purpose, 0);
  at::Tensor sample = at::empty({size}, at::kLong);
  int64_t* next = sample.data_ptr<int64_t>();
  for (int64_t i = 0, wanted = size; wanted > 0; ++i) {
    if (static_cast<int64_t>(random.below(static_cast<uint64_t>(n - i))) >= wanted) continue;
    *next++ = i;
    --wanted;
  }
  return sample;
}

void solve_dual(KernelSvd& svd, const Rows& rows, const Rows& columns, const NystromOptions& options) {
  const int64_t n = sample_size(svd.rows, options.share), m = sample_size(svd.columns, options.share);
  svd.sampled = n < svd.rows || m < svd.columns;
  const at::Tensor row_numbers = sample_of(svd.rows, n, options.seed, kRowSample);
  svd.kept_rows = kept_of(svd, rows, row_numbers);
  svd.kept_columns =
      svd.one_table ? svd.kept_rows : kept_of(svd, columns, sample_of(svd.columns, m, options.seed, kColumnSample));
  const at::Tensor values = kept_values(svd, rows);
  svd.energy = energy_of(svd, values);
  const bool is_mended = svd.sampled && options.orthogonal;
  TruncatedSvd found = truncated_svd(values, is_mended ? extended_rank(options.rank, n, m) : options.rank);
  fix_signs(found.v, found.u);
  const double kept_n = static_cast<double>(n), kept_m = static_cast<double>(m);
  svd.singular_values =
      found.values * std::sqrt(static_cast<double>(svd.rows) / kept_n * (static_cast<double>(svd.columns) / kept_m));
  svd.left_weights = found.v / std::sqrt(kept_m);
  svd.right_weights = svd.is_symmetric() ? svd.left_weights : found.u / std::sqrt(kept_n);
  if (is_mended) {
    orthogonalise(svd, rows.values, columns.values.defined() ? columns.values : rows.values, options.rank);
    fix_signs(svd.left_weights, svd.right_weights);
  }
}

}  // namespace primal::analysis
