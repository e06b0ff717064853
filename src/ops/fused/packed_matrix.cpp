#include "ops/fused/packed_matrix.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ops/fused/tile_space.h"
#include "ops/fused/tiles.h"
#include "ops/parallel.h"
#include "ops/recycled_memory.h"

namespace primal::ops::fused {

namespace {

// Panels [first, end) of the columns of b.
void pack_panels(kernels::MatrixView b, int64_t depth, int64_t columns, float* packed, int64_t first, int64_t end) {
  const int64_t begin = first * kernels::panel_width();
  const int64_t count = std::min(columns, end * kernels::panel_width()) - begin;
  kernels::pack({b.data + begin * b.column_stride, b.row_stride, b.column_stride}, depth, count,
                packed + begin * depth);
}

void pack_in_parallel(kernels::MatrixView b, int64_t depth, int64_t columns, float* packed) {
  const int64_t panels = (columns + kernels::panel_width() - 1) / kernels::panel_width();
  constexpr int64_t kLeast = 1 << 14;  // elements that are worth a thread
  const int64_t grain = std::max<int64_t>(1, kLeast / std::max<int64_t>(1, depth * kernels::panel_width()));
  parallel_for(0, panels, grain,
                   [&](int64_t first, int64_t end) { pack_panels(b, depth, columns, packed, first, end); });
}

}  // namespace

at::Tensor work_space(at::IntArrayRef sizes) { return recycled_tensor(sizes, at::kFloat); }

at::Tensor zeros(at::IntArrayRef sizes) { return at::zeros(sizes, at::kFloat); }

PackedMatrix::PackedMatrix(int64_t depth, int64_t columns)
    : data_(work_space({kernels::packed_size(depth, columns)})), depth_(depth), columns_(columns) {}

PackedMatrix::PackedMatrix(kernels::MatrixView b, int64_t depth, int64_t columns) : PackedMatrix(depth, columns) {
  pack_in_parallel(b, depth, columns, data_.mutable_data_ptr<float>());
}

PackedMatrix PackedMatrix::of_weight(const at::Tensor& weight, bool transposed) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const float* data = weight.const_data_ptr<float>();
  return transposed ? PackedMatrix({data, 1, in}, in, out) : PackedMatrix({data, in, 1}, out, in);
}

PackedMatrix PackedMatrix::of_weights(const at::Tensor& upper, const at::Tensor& lower, bool transposed) {
  // Two halves of one matrix only if a panel does not hold columns of both; else they are joined first.
  const int64_t out = upper.size(0), in = upper.size(1);
  if (!transposed || out % kernels::panel_width() != 0) return of_weight(at::cat({upper, lower}), transposed);
  PackedMatrix result(in, 2 * out);
  float* packed = result.data_.mutable_data_ptr<float>();
  pack_in_parallel({upper.const_data_ptr<float>(), 1, in}, in, out, packed);
  pack_in_parallel({lower.const_data_ptr<float>(), 1, in}, in, out, packed + in * out);
  return result;
}

void PackedMatrix::multiply(kernels::MatrixView a, int64_t rows, const kernels::ProductTarget& target) const {
  kernels::multiply(a, data_.const_data_ptr<float>(), {rows, columns_, depth_}, target);
}

void add_outer_products(const float* a, int64_t a_stride, const float* b, int64_t b_stride, kernels::ProductShape shape,
                        float* c, bool add) {
  constexpr int64_t kRows = 48;  // per unit of work: a multiple of every register block
  TileSpace space;
  float* packed = space.take(1, kernels::packed_size(shape.depth, shape.columns));
  pack_in_parallel({b, b_stride, 1}, shape.depth, shape.columns, packed);
  for_each_tile({0, shape.rows}, kRows, [&](Range rows, int64_t /*index*/) {
    const kernels::ProductShape part{rows.size(), shape.columns, shape.depth};
    TileSpace own;
    kernels::add_outer_products(a + rows.begin, a_stride, packed, part, c + rows.begin * shape.columns, shape.columns,
                                add, own.take(1, kernels::outer_products_space(part)));
  });
}

}  // namespace primal::ops::fused
