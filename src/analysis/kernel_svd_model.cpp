#include "analysis/kernel_svd_model.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace primal::analysis {

namespace {

// Blocks that are computed before they are handed on in order.
constexpr int64_t kBlocksAtOnce = 32;

// A block of kernel values should stay small whatever the number of kept rows.
int64_t block_size(const KernelSvd& svd, int64_t kept) {
  if (svd.form == Form::primal) return rows_per_block(svd.left_weights.size(0));
  constexpr int64_t kNumbers = int64_t{1} << 20;
  return std::clamp<int64_t>(kNumbers / std::max<int64_t>(kept, 1), 64, 4096);
}

// log of what sne divides the kept rows by: a sum over all columns, estimated from the kept ones.
at::Tensor log_sums_of(const KernelSvd& svd) {
  const double share = static_cast<double>(svd.kept_columns.size(0)) / static_cast<double>(svd.columns);
  return at::logsumexp(log_affinities(svd.kernel, svd.kept_rows, svd.kept_columns), 1).sub_(std::log(share));
}

}  // namespace

at::Tensor KernelSvd::scaled_values() const {
  return singular_values / std::sqrt(static_cast<double>(rows) * static_cast<double>(columns));
}

at::ScalarType computing_dtype(Form form, at::ScalarType table, bool in_double) {
  const bool is_short = table == at::kFloat || table == at::kHalf || table == at::kBFloat16;
  return form == Form::primal && is_short && !in_double ? at::kFloat : at::kDouble;
}

at::Tensor values_with_columns(const KernelSvd& svd, const at::Tensor& rows) {
  const int64_t kept = svd.kept_columns.size(0);
  if (svd.kernel.kind == KernelKind::matrix)
    return kept == rows.size(1) ? rows : rows.index_select(1, svd.kept_columns);
  const at::Tensor values = kernel_values(svd.kernel, rows, svd.kept_columns);
  if (svd.kernel.kind != KernelKind::sne || kept == svd.columns) return values;
  return values * (static_cast<double>(kept) / static_cast<double>(svd.columns));
}

FeatureMaker::FeatureMaker(const KernelSvd& svd, Side side)
    : svd_(svd),
      side_(side),
      weights_(side == Side::left ? svd.left_weights : svd.right_weights),
      kept_(side == Side::left ? svd.kept_columns : svd.kept_rows) {
  if (svd.form == Form::primal) phi_ = std::make_unique<FiniteFeatures>(svd.kernel, svd.inputs);
  if (svd.kernel.kind == KernelKind::sne && side == Side::right) log_sums_ = log_sums_of(svd);
}

int64_t FeatureMaker::inputs() const {
  if (svd_.kernel.kind != KernelKind::matrix) return svd_.inputs;
  return side_ == Side::left ? svd_.columns : svd_.rows;
}

// What the weights multiply: phi(x), or kernel values with the rows that were kept.
at::Tensor FeatureMaker::inputs_of(const at::Tensor& rows) const {
  if (phi_) return phi_->of(rows);
  if (side_ == Side::left) return values_with_columns(svd_, rows);
  if (svd_.kernel.kind == KernelKind::sne) return log_affinities(svd_.kernel, rows, kept_).sub_(log_sums_).exp_();
  if (svd_.kernel.kind != KernelKind::matrix) return kernel_values(svd_.kernel, rows, kept_);
  return kept_.size(0) == rows.size(1) ? rows : rows.index_select(1, kept_);
}

at::Tensor FeatureMaker::of_block(const at::Tensor& rows) const {
  return at::mm(inputs_of(rows), weights_.to(rows.scalar_type()));
}

void FeatureMaker::give(const at::Tensor& table, bool in_double,
                        const std::function<void(const at::Tensor&)>& taker) const {
  if (table.dim() != 2 || table.size(1) != inputs()) {
    throw Error("features: expected rows of " + std::to_string(inputs()) + " numbers, got " +
                std::to_string(table.dim() == 2 ? table.size(1) : 0));
  }
  const at::ScalarType computed = dtype(table, in_double);
  const Rows rows{.values = table, .mean = svd_.mean, .factor = svd_.factor};
  const int64_t size = block_size(svd_, kept_.defined() ? kept_.size(0) : 0), at_once = size * kBlocksAtOnce;
  for (int64_t first = 0; first < rows.count(); first += at_once) {
    const int64_t count = std::min(at_once, rows.count() - first);
    const at::Tensor features = at::empty({count, svd_.rank()}, computed);
    for_blocks(count, size, [&](int64_t begin, int64_t block) {
      features.narrow(0, begin, block).copy_(of_block(rows.block(first + begin, block, computed)));
    });
    taker(features);
  }
}

at::Tensor FeatureMaker::of(const at::Tensor& table, bool in_double) const {
  std::vector<at::Tensor> pieces;
  give(table, in_double, [&](const at::Tensor& piece) { pieces.push_back(piece); });
  return at::cat(pieces);
}

}  // namespace primal::analysis
