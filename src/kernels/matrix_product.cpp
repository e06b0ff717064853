// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix_product.cpp"
#include "kernels/matrix_product.h"

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

constexpr int64_t kLanes = hn::MaxLanes(Floats());  // the vectors of these targets have a fixed size
constexpr int kPanelVectors = 2;
constexpr int64_t kPanel = kPanelVectors * kLanes;
// Rows of the register block: accumulators of kRows x 2 vectors, two of the panel and one broadcast must fit into the
// registers, 32 with AVX-512 and 16 elsewhere.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
// Depth of a block: its part of a panel (32 KiB with AVX2) is read again from L1 or L2 while the rows of the tile run
// over it. Half of it was 5 to 10 % slower: the result is then read and written twice as often.
constexpr int64_t kDepth = 512;
// Depth and rows of the blocks of add_outer_products: the left side of one takes 192 KiB of L2. Half the depth was 3 to
// 5 % slower.
constexpr int64_t kOuterDepth = 512;
constexpr int64_t kOuterRows = 96;

struct Block {
  MatrixView a;
  const float* panel;
  int64_t depth;
  float* c;
  int64_t c_stride;
  int64_t columns;  // of this panel, at most kPanel
  bool add;
  const float* bias;
  const float* row_scale;
  int64_t row_scale_stride;
};

// A row of a panel that is not full.
HWY_NOINLINE void put_part(const Block& block, const float* HWY_RESTRICT row, float* HWY_RESTRICT c) {
  for_each_vector(block.columns, [&](int64_t j, auto lanes) HWY_ATTR {
    Vector sum = hn::Load(Floats(), row + j);
    if (block.bias != nullptr) sum = hn::Add(sum, lanes.load(block.bias + j));
    if (block.add) sum = hn::Add(sum, lanes.load(c + j));
    lanes.store(sum, c + j);
  });
}

template <int kVectors>
HWY_INLINE void put(const Block& block, int64_t i, Vector* sums) {
  const Floats d;
  float* c = block.c + i * block.c_stride;
  if (block.row_scale != nullptr) {
    const Vector scale = hn::Set(d, block.row_scale[i * block.row_scale_stride]);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(sums[v], scale);
  }
  if (block.columns == kVectors * kLanes) {
    for (int v = 0; v < kVectors; ++v) {
      if (block.bias != nullptr) sums[v] = hn::Add(sums[v], hn::LoadU(d, block.bias + v * kLanes));
      if (block.add) sums[v] = hn::Add(sums[v], hn::LoadU(d, c + v * kLanes));
      hn::StoreU(sums[v], d, c + v * kLanes);
    }
  } else {
    HWY_ALIGN float row[kVectors * kLanes];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, row + v * kLanes);
    put_part(block, row, c);
  }
}

// kCount rows from row i on, times one panel.
template <int kCount, int kVectors>
HWY_INLINE void register_block(const Block& block, int64_t i) {
  const Floats d;
  const float* HWY_RESTRICT a = block.a.data + i * block.a.row_stride;
  const int64_t row_stride = block.a.row_stride, column_stride = block.a.column_stride;
  const float* HWY_RESTRICT panel = block.panel;
  Vector sums[kCount][kVectors];
  // The result is often not in L1, a weight's gradient not even in L2: ask for it before the loop that needs it last.
  for (int r = 0; r < kCount; ++r) hwy::Prefetch(block.c + (i + r) * block.c_stride);
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < block.depth; ++k, panel += kPanel, a += column_stride) {
    Vector b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(d, panel + v * kLanes);
    for (int r = 0; r < kCount; ++r) {
      const Vector x = hn::Set(d, a[r * row_stride]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kCount; ++r) put<kVectors>(block, i + r, sums[r]);
}

// As many blocks of kCount rows as there are, then smaller ones.
template <int kVectors, int kCount>
HWY_INLINE void row_blocks(const Block& block, int64_t i, int64_t rows) {
  for (; i + kCount <= rows; i += kCount) register_block<kCount, kVectors>(block, i);
  if constexpr (kCount > 1) {
    if (i < rows) row_blocks<kVectors, (kCount > 2 ? (kCount + 1) / 2 : 1)>(block, i, rows);
  }
}

template <int kVectors>
HWY_NOINLINE void panel_rows(const Block& block, int64_t rows) {
  row_blocks<kVectors, kRows>(block, 0, rows);
}

// A panel of which only the first vector holds columns costs half.
HWY_INLINE void one_panel(const Block& block, int64_t rows) {
  if (block.columns > kLanes) {
    panel_rows<2>(block, rows);
  } else {
    panel_rows<1>(block, rows);
  }
}

int64_t width_of_panel() { return kPanel; }

// The first `columns` of each row, to rows `to_stride` apart. Nearly all calls have kWidth columns: there a row is a
// few vector moves.
template <int kWidth>
HWY_INLINE void copy_rows(const float* HWY_RESTRICT from, int64_t stride, int64_t rows, int64_t columns,
                          int64_t to_stride, float* HWY_RESTRICT to) {
  if (columns == kWidth) {
    for (int64_t k = 0; k < rows; ++k, from += stride, to += to_stride)
      hwy::CopyBytes<kWidth * sizeof(float)>(from, to);
  } else {
    for (int64_t k = 0; k < rows; ++k, from += stride, to += to_stride) std::copy_n(from, columns, to);
  }
}

// Four columns of `count` neighbouring numbers each become four neighbours in each row of a panel.
HWY_INLINE void transpose_four(const float* HWY_RESTRICT from, int64_t stride, int64_t count, float* HWY_RESTRICT to) {
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of four
  const hn::FixedTag<float, 4> d;
  for (; k + 4 <= count; k += 4) {
    const auto a = hn::LoadU(d, from + k), b = hn::LoadU(d, from + stride + k);
    const auto c = hn::LoadU(d, from + 2 * stride + k), e = hn::LoadU(d, from + 3 * stride + k);
    const auto ac_low = hn::InterleaveLower(d, a, c), be_low = hn::InterleaveLower(d, b, e);
    const auto ac_high = hn::InterleaveUpper(d, a, c), be_high = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, to + k * kPanel);
    hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, to + (k + 1) * kPanel);
    hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, to + (k + 2) * kPanel);
    hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, to + (k + 3) * kPanel);
  }
#endif
  for (; k < count; ++k) {
    for (int64_t column = 0; column < 4; ++column) to[k * kPanel + column] = from[column * stride + k];
  }
}

// Transposed weights (neighbours along the depth): blocks of rows that stay in L1 while a panel's columns are read.
void pack_panel(MatrixView b, int64_t depth, int64_t columns, float* HWY_RESTRICT panel) {
  if (columns < kPanel) std::fill_n(panel, depth * kPanel, 0.0f);
  if (b.column_stride == 1) {
    copy_rows<kPanel>(b.data, b.row_stride, depth, columns, kPanel, panel);
    return;
  }
  constexpr int64_t kStrip = 64;
  for (int64_t first = 0; first < depth; first += kStrip) {
    const int64_t count = std::min(kStrip, depth - first);
    float* HWY_RESTRICT strip = panel + first * kPanel;
    int64_t j = 0;
    if (b.row_stride == 1) {
      for (; j + 4 <= columns; j += 4) {
        transpose_four(b.data + first + j * b.column_stride, b.column_stride, count, strip + j);
      }
    }
    for (; j < columns; ++j) {
      const float* HWY_RESTRICT column = b.data + first * b.row_stride + j * b.column_stride;
      for (int64_t k = 0; k < count; ++k) strip[k * kPanel + j] = column[k * b.row_stride];
    }
  }
}

void pack_all(MatrixView b, int64_t depth, int64_t columns, float* packed) {
  // Rows are read from end to end, a few at a time: a panel by itself would touch a new page with every row.
  const int64_t strip = b.column_stride == 1 ? 8 : depth;
  for (int64_t k = 0; k < depth; k += strip) {
    const int64_t rows = std::min(strip, depth - k);
    for (int64_t j = 0; j < columns; j += kPanel) {
      pack_panel({b.data + k * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride}, rows,
                 std::min(kPanel, columns - j), packed + j * depth + k * kPanel);
    }
  }
}

void multiply_all(MatrixView a, const float* packed, ProductShape shape, const ProductTarget& target) {
  const int64_t panel_stride = target.panel_stride != 0 ? target.panel_stride : kPanel;
  for (int64_t k = 0; k == 0 || k < shape.depth; k += kDepth) {
    const bool first = k == 0;
    Block block{{a.data + k * a.column_stride, a.row_stride, a.column_stride},
                nullptr,
                std::min(kDepth, shape.depth - k),
                nullptr,
                target.row_stride,
                0,
                target.add || !first,
                nullptr,
                target.row_scale,
                target.row_scale_stride};
    for (int64_t j = 0; j < shape.columns; j += kPanel) {
      block.panel = packed + j * shape.depth + k * kPanel;
      block.c = target.data + (j / kPanel) * panel_stride;
      block.columns = std::min(kPanel, shape.columns - j);
      block.bias = first && target.bias != nullptr ? target.bias + j : nullptr;
      one_panel(block, shape.rows);
    }
  }
}

// [depth, count] -> panels of kRows columns, the last one narrower.
void pack_left(const float* a, int64_t stride, int64_t depth, int64_t count, float* HWY_RESTRICT packed) {
  for (int64_t i = 0; i < count; i += kRows) {
    const int64_t width = std::min<int64_t>(kRows, count - i);
    copy_rows<kRows>(a + i, stride, depth, width, width, packed);
    packed += depth * width;
  }
}

int64_t space_of_outer(const ProductShape& shape) {
  return std::min(kOuterRows, shape.rows) * std::min(kOuterDepth, shape.depth);
}

void add_outer(const float* a, int64_t a_stride, const float* packed, ProductShape shape, float* c, int64_t c_stride,
               bool add, float* space) {
  if (shape.depth == 0 && !add) {
    for (int64_t i = 0; i < shape.rows; ++i) std::fill_n(c + i * c_stride, shape.columns, 0.0f);
  }
  for (int64_t k = 0; k < shape.depth; k += kOuterDepth) {
    const int64_t depth = std::min(kOuterDepth, shape.depth - k);
    for (int64_t i = 0; i < shape.rows; i += kOuterRows) {
      const int64_t rows = std::min(kOuterRows, shape.rows - i);
      pack_left(a + k * a_stride + i, a_stride, depth, rows, space);
      for (int64_t j = 0; j < shape.columns; j += kPanel) {
        for (int64_t ir = 0; ir < rows; ir += kRows) {
          const int64_t width = std::min<int64_t>(kRows, rows - ir);
          one_panel({{space + ir * depth, 1, width},
                     packed + j * shape.depth + k * kPanel,
                     depth,
                     c + (i + ir) * c_stride + j,
                     c_stride,
                     std::min(kPanel, shape.columns - j),
                     add || k > 0,
                     nullptr,
                     nullptr,
                     0},
                    width);
        }
      }
    }
  }
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(width_of_panel);
HWY_EXPORT(pack_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(add_outer);
HWY_EXPORT(space_of_outer);

int64_t panel_width() { return HWY_DYNAMIC_DISPATCH(width_of_panel)(); }

int64_t packed_size(int64_t depth, int64_t columns) {
  const int64_t width = panel_width();
  return (columns + width - 1) / width * width * depth;
}

void pack(MatrixView b, int64_t depth, int64_t columns, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_all)(b, depth, columns, packed);
}

void multiply(MatrixView a, const float* packed, ProductShape shape, const ProductTarget& target) {
  HWY_DYNAMIC_DISPATCH(multiply_all)(a, packed, shape, target);
}

int64_t outer_products_space(const ProductShape& shape) { return HWY_DYNAMIC_DISPATCH(space_of_outer)(shape); }

void add_outer_products(const float* a, int64_t a_stride, const float* packed, ProductShape shape, float* c,
                        int64_t c_stride, bool add, float* space) {
  HWY_DYNAMIC_DISPATCH(add_outer)(a, a_stride, packed, shape, c, c_stride, add, space);
}

}  // namespace primal::kernels
#endif
