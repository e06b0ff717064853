// Matrix products for tiles that stay in cache. The right-hand side is rearranged once ("packed") into panels as wide
// as two vectors and then multiplied with many tiles; the left-hand side is read where it stands, whatever its strides.
//
// A general BLAS packs both sides on every call. Here the right-hand side is a weight that thousands of tokens share,
// so its packing costs nothing per tile, and small products run at the same rate as large ones.
#pragma once

#include <cstdint>

namespace primal::kernels {

/// Element (i, k) is data[i * row_stride + k * column_stride].
struct MatrixView {
  const float* data;
  int64_t row_stride;
  int64_t column_stride = 1;
};

/// rows x depth times depth x columns.
struct ProductShape {
  int64_t rows, columns, depth;
};

/// What becomes of a product: row i, column j goes to data[i * row_stride + j], or, with a panel stride, to
/// data[(j / panel_width()) * panel_stride + i * row_stride + j % panel_width()], which is how packed matrices lie.
struct ProductTarget {
  float* data;
  int64_t row_stride;
  int64_t panel_stride = 0;
  bool add = false;                  ///< add to what is there
  const float* bias = nullptr;       ///< [columns], added to every row
  const float* row_scale = nullptr;  ///< [rows], multiplies the product (not the bias, nor what is there)
  int64_t row_scale_stride = 1;
};

/// Columns of a panel of the CPU target in use. A matrix packed for one target cannot be used with another.
int64_t panel_width();

/// Floats that a packed depth x columns matrix takes.
int64_t packed_size(int64_t depth, int64_t columns);

/// Packs b: depth x columns. Columns beyond the last are zeros in the last panel. packed: on a 64-byte boundary.
void pack(MatrixView b, int64_t depth, int64_t columns, float* packed);

/// target = a * packed. a: rows x depth.
/// Each element is summed over the depth in one order, whatever the number of rows in the call.
void multiply(MatrixView a, const float* packed, ProductShape shape, const ProductTarget& target);

/// c += a^T b, or c = a^T b without `add`: the gradient of a weight. a: depth x rows, row-major; packed: b, depth x
/// columns, packed; strides between rows. `rows` may be a part of the rows of the result: parts share nothing but b.
/// space: outer_products_space(shape) floats.
void add_outer_products(const float* a, int64_t a_stride, const float* packed, ProductShape shape, float* c,
                        int64_t c_stride, bool add, float* space);
int64_t outer_products_space(const ProductShape& shape);

}  // namespace primal::kernels
