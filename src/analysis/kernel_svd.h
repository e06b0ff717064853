// Kernel SVD of the rows of two tables, of one table with itself, or of a matrix of kernel values.
//
//   const KernelSvd svd = kernel_svd({.rows = x, .columns = z}, {.kernel = {.kind = KernelKind::rbf}, .rank = 8});
//   at::Tensor left = FeatureMaker(svd, Side::left).of(x);            // [n, 8]
//   at::Tensor of_new_rows = FeatureMaker(svd, Side::left).of(more);
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/kernel_svd_model.h"

namespace primal::analysis {

/// x [n, d] and z [m, d], or x alone. Of kind KernelKind::matrix: rows [n, m], and no columns.
struct Tables {
  at::Tensor rows, columns;
};

struct KernelSvdOptions {
  Kernel kernel{.width = 0};      ///< width 0: 1, or of rbf and sne the median distance of a row to a column
  int64_t rank = 0;               ///< 0: 10, or as many as there are
  std::optional<Form> form{};     ///< not said: primal where it is cheaper
  std::optional<double> share{};  ///< of rows and columns to decompose instead of all: asymmetric Nystrom
  bool orthogonal = false;        ///< then also among all rows
  bool standardise = false;       ///< columns of both tables by mean and deviation of those of `rows`
  bool in_double = false;         ///< also where the tables are float32
  uint64_t seed = 0;
};

/// The largest matrix of kernel values that is made: 2 GB in float64.
inline constexpr int64_t kMostKernelValues = int64_t{1} << 28;

/// Throws Error, one line, for tables and options that do not fit together.
KernelSvd kernel_svd(const Tables& tables, const KernelSvdOptions& options);

}  // namespace primal::analysis
