#include "ops/fused/packed_matrix.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

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

// Floats of the packed right side, rounded up so that the next one begins on a 64-byte boundary.
int64_t packed_space(const OuterProduct& p) {
  return (kernels::packed_size(p.shape.depth, p.shape.columns) + 15) / 16 * 16;
}

// Right sides that are packed at once, 4 MB: the caches should hold them until they are used.
constexpr int64_t kPackedTogether = 1 << 20;

// Rows or panels of one of several products.
struct Part {
  size_t product;
  int64_t begin, end;
};

void cut(size_t product, int64_t size, int64_t step, std::vector<Part>& parts) {
  for (int64_t i = 0; i < size; i += step) parts.push_back({product, i, std::min(i + step, size)});
}

// Two parallel loops for all of them: threads wait for each other only twice, and have enough parts to share evenly.
void add_together(std::span<const OuterProduct> products) {
  constexpr int64_t kRows = 48;   // a multiple of every register block
  constexpr int64_t kPanels = 4;  // neighbours, since rows are read from end to end
  std::vector<Part> panels, rows;
  std::vector<int64_t> offsets;
  int64_t space_needed = 0, work = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const kernels::ProductShape& shape = products[i].shape;
    cut(i, (shape.columns + kernels::panel_width() - 1) / kernels::panel_width(), kPanels, panels);
    cut(i, shape.rows, kRows, rows);
    offsets.push_back(space_needed);
    space_needed += packed_space(products[i]);
    work += shape.rows * shape.columns * shape.depth;
  }
  const int64_t threads = 1 + work / kWorthAThread;
  TileSpace space;
  float* packed = space.take(1, space_needed);
  for_each_in_turn(static_cast<int64_t>(panels.size()), threads, [&](int64_t i) {
    const Part& part = panels[static_cast<size_t>(i)];
    const OuterProduct& p = products[part.product];
    pack_panels(p.b, p.shape.depth, p.shape.columns, packed + offsets[part.product], part.begin, part.end);
  });
  for_each_in_turn(static_cast<int64_t>(rows.size()), threads, [&](int64_t i) {
    const Part& part = rows[static_cast<size_t>(i)];
    const OuterProduct& p = products[part.product];
    const kernels::ProductShape shape{part.end - part.begin, p.shape.columns, p.shape.depth};
    TileSpace own;
    kernels::add_outer_products(p.a.data + part.begin, p.a.row_stride, packed + offsets[part.product], shape,
                                p.c + part.begin * shape.columns, shape.columns, p.add,
                                own.take(1, kernels::outer_products_space(shape)));
  });
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

void add_outer_products(std::span<const OuterProduct> products) {
  while (!products.empty()) {
    size_t count = 0;
    for (int64_t packed = 0; count < products.size(); ++count) {
      packed += packed_space(products[count]);
      if (count > 0 && packed > kPackedTogether) break;
    }
    add_together(products.first(count));
    products = products.subspan(count);
  }
}

}  // namespace primal::ops::fused
