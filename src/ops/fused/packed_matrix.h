// Weights in the order that kernels::multiply reads, and work space.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "kernels/matrix_product.h"

namespace primal::ops::fused {

/// A float32 tensor without values: what a kernel fills. Its memory begins on a 64-byte boundary.
at::Tensor work_space(at::IntArrayRef sizes);
/// The same, full of zeros.
at::Tensor zeros(at::IntArrayRef sizes);
/// The numbers of a float32 tensor from `offset` on.
inline float* data(const at::Tensor& tensor, int64_t offset = 0) { return tensor.mutable_data_ptr<float>() + offset; }

/// A packed depth x columns matrix.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// b: depth x columns; packed in parallel.
  PackedMatrix(kernels::MatrixView b, int64_t depth, int64_t columns);
  /// The matrices on top of each other (rows) or, transposed, beside each other: for weight [out, in] the product with
  /// `transposed` computes x weight^T, without it x weight.
  static PackedMatrix of_weight(const at::Tensor& weight, bool transposed);
  static PackedMatrix of_weights(const at::Tensor& upper, const at::Tensor& lower, bool transposed);

  /// target = a * this.
  void multiply(kernels::MatrixView a, int64_t rows, const kernels::ProductTarget& target) const;

 private:
  PackedMatrix(int64_t depth, int64_t columns);

  at::Tensor data_;
  int64_t depth_ = 0, columns_ = 0;
};

/// c [rows, columns] += a^T b, or = without `add`, over all rows of a [depth, rows] and b [depth, columns]: the
/// gradient of a weight.
struct OuterProduct {
  kernels::MatrixView a, b;  // columns side by side
  kernels::ProductShape shape;
  float* c;
  bool add;
};

/// In parallel over parts of the results, which do not depend on the number of threads. Large ones first.
void add_outer_products(std::span<const OuterProduct> products);

}  // namespace primal::ops::fused
