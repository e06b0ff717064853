#include "analysis/kernel_svd.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/asymmetric_nystrom.h"
#include "analysis/primal_ksvd.h"
#include "base/format.h"

namespace primal::analysis {

namespace {

constexpr int64_t kUsualRank = 10;
constexpr int64_t kDistanceSample = 512;                     // rows, and columns, between which distances are taken
constexpr uint64_t kRowDistances = 3, kColumnDistances = 4;  // purposes of samples

std::string times(int64_t a, int64_t b) { return std::to_string(a) + " x " + std::to_string(b); }

void check_table(const at::Tensor& table, const char* what) {
  if (table.dim() == 2 && table.size(0) > 0 && table.size(1) > 0) return;
  throw Error(std::string(what) + ": expected a table of at least one row and one column");
}

void check_tables(const Tables& tables, KernelKind kind) {
  check_table(tables.rows, "rows");
  if (!tables.columns.defined()) return;
  check_table(tables.columns, "columns");
  if (kind == KernelKind::matrix) throw Error("matrix: expected one table, got two");
  if (tables.rows.size(1) == tables.columns.size(1)) return;
  throw Error("tables: expected as many numbers in a row of both, got " + std::to_string(tables.rows.size(1)) +
              " and " + std::to_string(tables.columns.size(1)));
}

// Some rows as the kernel sees them, [k, d] float64.
at::Tensor some_rows(const Rows& rows, uint64_t seed, uint64_t purpose) {
  const at::Tensor numbers = sample_of(rows.count(), std::min(rows.count(), kDistanceSample), seed, purpose);
  const Rows some{.values = rows.values.index_select(0, numbers), .mean = rows.mean, .factor = rows.factor};
  return some.block(0, some.count(), at::kDouble);
}

double median_distance(const Rows& rows, const Rows& columns, uint64_t seed) {
  const at::Tensor x = some_rows(rows, seed, kRowDistances), z = some_rows(columns, seed, kColumnDistances);
  const at::Tensor distances = at::cdist(x, z, 2, /*compute_mode=*/2).flatten();
  const at::Tensor apart = distances.masked_select(distances > 0);
  if (apart.numel() == 0) throw Error("width: all rows are the same, so the data suggest none");
  return apart.median().item<double>();
}

Form form_of(const KernelSvd& svd, const KernelSvdOptions& options) {
  const int64_t features = feature_count(svd.kernel, svd.inputs);
  const auto name = std::string(base::name_in(kKernelNames, svd.kernel.kind));
  if (options.share) {
    if (!(*options.share > 0 && *options.share <= 1)) {
      throw Error("Nystrom: expected a share above 0 and up to 1, got " + base::format_digits(*options.share, 6));
    }
    if (options.form == Form::primal)
      throw Error("Nystrom: a sample stands for kernel values, which the primal form has none of");
    return Form::dual;
  }
  if (options.form == Form::primal && features == 0) {
    throw Error("primal form: expected a kernel with at most " + std::to_string(kMostFeatures) + " features, got " +
                name + " of rows of " + std::to_string(svd.inputs));
  }
  if (options.form) return *options.form;
  const bool is_large = svd.rows > kMostKernelValues / svd.columns;
  return features > 0 && (is_large || features <= std::min(svd.rows, svd.columns)) ? Form::primal : Form::dual;
}

// The whole matrix, or the sampled part of it, must fit into memory.
void check_size(const KernelSvd& svd, int64_t n, int64_t m) {
  if (n <= kMostKernelValues / m) return;
  const double values = static_cast<double>(svd.rows) * static_cast<double>(svd.columns);
  const double share = std::floor(1e4 * std::sqrt(static_cast<double>(kMostKernelValues) / values)) / 1e4;
  throw Error("kernel values: expected at most " + std::to_string(kMostKernelValues >> 27) + " GB of them, got " +
              times(n, m) + "; a Nystrom share of " + base::format_digits(share, 4) + " or less fits");
}

int64_t rank_of(int64_t wanted, int64_t most, const std::string& why) {
  if (wanted == 0) return std::min(kUsualRank, most);
  if (wanted >= 1 && wanted <= most) return wanted;
  throw Error("rank: expected 1 to " + std::to_string(most) + ", " + why + ", got " + std::to_string(wanted));
}

void solve(KernelSvd& svd, const Rows& rows, const Rows& columns, const KernelSvdOptions& options) {
  if (svd.form == Form::primal) {
    const int64_t features = feature_count(svd.kernel, svd.inputs);
    const int64_t rank = rank_of(options.rank, std::min({svd.rows, svd.columns, features}),
                                 "the least of rows, columns and " + std::to_string(features) + " features");
    const auto is_double = [&](const Rows& table) {
      return table.values.defined() &&
             computing_dtype(Form::primal, table.values.scalar_type(), options.in_double) == at::kDouble;
    };
    const at::ScalarType dtype = is_double(rows) || is_double(columns) ? at::kDouble : at::kFloat;
    return solve_primal(svd, rows, columns, rank, dtype);
  }
  const double share = options.share.value_or(1);
  const int64_t n = sample_size(svd.rows, share), m = sample_size(svd.columns, share);
  check_size(svd, n, m);
  const int64_t rank = rank_of(options.rank, std::min(n, m), "the smaller side of " + times(n, m) + " kernel values");
  solve_dual(svd, rows, columns,
             {.rank = rank, .share = share, .orthogonal = options.orthogonal, .seed = options.seed});
}

}  // namespace

KernelSvd kernel_svd(const Tables& tables, const KernelSvdOptions& options) {
  const bool is_matrix = options.kernel.kind == KernelKind::matrix;
  check_tables(tables, options.kernel.kind);
  if (is_matrix && options.standardise) throw Error("matrix: kernel values are not standardised");
  Rows rows{.values = tables.rows, .mean = {}, .factor = {}};
  Rows columns{.values = is_matrix ? tables.rows.t() : tables.columns, .mean = {}, .factor = {}};
  KernelSvd svd;
  svd.kernel = options.kernel;
  svd.rows = rows.count();
  svd.columns = columns.values.defined() ? columns.count() : rows.count();
  svd.inputs = is_matrix ? 0 : rows.width();
  svd.one_table = !columns.values.defined();
  if (options.standardise) {
    standardise(rows, tables.rows);
    svd.mean = columns.mean = rows.mean;
    svd.factor = columns.factor = rows.factor;
  }
  if (svd.kernel.width == 0) {
    svd.kernel.width =
        needs_width(svd.kernel.kind) ? median_distance(rows, svd.one_table ? rows : columns, options.seed) : 1;
  }
  check(svd.kernel);
  svd.form = form_of(svd, options);
  solve(svd, rows, columns, options);
  return svd;
}

}  // namespace primal::analysis
