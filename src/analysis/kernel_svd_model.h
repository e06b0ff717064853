// What a kernel SVD leaves behind, and the features of rows old and new.
//
// The matrix of kernel values K [n, m] of two tables, K = U diag(sigma) V^T, in the form of coupled covariances (Tao,
// Tonin and others, ICML 2024): features of a row x of the first table are sum_j kappa(x, z_j) V_j / sqrt(m), of a row
// z of the second one sum_i kappa(x_i, z) U_i / sqrt(n). Of the tables themselves that is sqrt(n) U Lambda and sqrt(m)
// V Lambda with Lambda = sigma / sqrt(n m): the mean square of a feature is Lambda^2 whatever the number of rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "analysis/kernel_features.h"
#include "analysis/kernel_functions.h"
#include "analysis/row_blocks.h"

namespace primal::analysis {

enum class Form {
  primal,  ///< features are phi(x) weights: nothing of the tables is kept
  dual     ///< features are kernel values with kept rows, times weights
};

struct KernelSvd {
  Kernel kernel;
  Form form = Form::primal;
  int64_t rows = 0, columns = 0;  ///< n, m of the kernel matrix
  int64_t inputs = 0;             ///< d, numbers in a row of a table; of a matrix 0
  bool one_table = false;         ///< the rows with themselves
  bool sampled = false;           ///< asymmetric Nystrom: from some rows and columns
  at::Tensor singular_values;     ///< [r] float64, sigma, falling
  double energy = 0;              ///< |K|^2, the sum of all sigma^2; estimated if sampled
  at::Tensor mean, factor;        ///< [d] float64, or undefined: how rows are standardised

  at::Tensor left_weights, right_weights;  ///< [p, r]; dual: [m', r], [n', r]; float64
  at::Tensor kept_rows,
      kept_columns;  ///< dual: [n', d], [m', d] float64, standardised; of a matrix [n'], [m'], numbers from 0

  int64_t rank() const { return singular_values.size(0); }
  /// Whether left and right features are the same.
  bool is_symmetric() const { return one_table && analysis::is_symmetric(kernel.kind); }
  /// sigma / sqrt(n m): comparable between tables of different lengths.
  at::Tensor scaled_values() const;
};

enum class Side { left, right };

/// float32 where a primal form meets float32 or shorter numbers and float64 is not asked for; else float64.
at::ScalarType computing_dtype(Form form, at::ScalarType table, bool in_double);

/// Features of rows of one side.
class FeatureMaker {
 public:
  /// `svd` must outlive it.
  FeatureMaker(const KernelSvd& svd, Side side);

  /// [n, r]
  at::Tensor of(const at::Tensor& table, bool in_double = false) const;
  /// The same in pieces, in order, computed in parallel; memory is that of a few blocks. A row of a matrix is a row of
  /// kernel values; on the right side a column of it.
  void give(const at::Tensor& table, bool in_double,
            const std::function<void(const at::Tensor& features)>& taker) const;

  /// Numbers that a row must have.
  int64_t inputs() const;
  int64_t rank() const { return svd_.rank(); }
  /// Of the features of a table.
  at::ScalarType dtype(const at::Tensor& table, bool in_double) const {
    return computing_dtype(svd_.form, table.scalar_type(), in_double);
  }

 private:
  at::Tensor of_block(const at::Tensor& rows) const;
  at::Tensor inputs_of(const at::Tensor& rows) const;

  const KernelSvd& svd_;
  Side side_;
  at::Tensor weights_;
  at::Tensor kept_;                      // rows that a row is compared with
  at::Tensor log_sums_;                  // [n'] of sne on the right side: of the rows on the left
  std::unique_ptr<FiniteFeatures> phi_;  // primal
};

/// Of a dual form: kernel values of rows [k, d] with the kept columns, [k, m']. What sne divides by is a sum over all
/// columns; the kept ones stand for them.
at::Tensor values_with_columns(const KernelSvd& svd, const at::Tensor& rows);

}  // namespace primal::analysis
