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
constexpr int kVectorsPerLine = static_cast<int>(64 / (kLanes * sizeof(float)));  // of the cache
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
// Up to so many panels, and with rows no further apart than so many numbers, the left side of add_outer_products is
// read where it stands: narrow products were 7 to 40 % faster so, wide ones 20 to 50 % slower.
constexpr int64_t kDirectPanels = 4;
constexpr int64_t kDirectStride = 512;

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
  const float* next;  // the panel that comes after this one; null: none
};

// The whole of a vector of the result, or, of the last one of a panel that is not full, its first lanes.
template <bool kWhole>
HWY_INLINE auto lanes_of(const Block& block, int v) {
  if constexpr (kWhole) {
    return WholeVector();
  } else {
    return FirstLanes{std::min(kLanes, block.columns - v * kLanes)};
  }
}

// What becomes of the sums of rows i and up. One small loop for each step: the compiler unrolls them, and the sums stay
// in registers.
template <bool kWhole, int kCount, int kVectors>
HWY_INLINE void put(const Block& block, int64_t i, Vector (&sums)[kCount][kVectors]) {
  const Floats d;
  float* HWY_RESTRICT c = block.c + i * block.c_stride;
  if (block.row_scale != nullptr) {
    const float* HWY_RESTRICT scale = block.row_scale + i * block.row_scale_stride;
    for (int r = 0; r < kCount; ++r) {
      const Vector factor = hn::Set(d, scale[r * block.row_scale_stride]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Mul(sums[r][v], factor);
    }
  }
  if (block.bias != nullptr) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector bias = lanes_of<kWhole>(block, v).load(block.bias + v * kLanes);
      for (int r = 0; r < kCount; ++r) sums[r][v] = hn::Add(sums[r][v], bias);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    const auto lanes = lanes_of<kWhole>(block, v);
    if (block.add) {
      for (int r = 0; r < kCount; ++r) {
        sums[r][v] = hn::Add(sums[r][v], lanes.load(c + r * block.c_stride + v * kLanes));
      }
    }
    for (int r = 0; r < kCount; ++r) lanes.store(sums[r][v], c + r * block.c_stride + v * kLanes);
  }
}

// kCount rows from row i on, times one panel.
template <int kCount, int kVectors>
HWY_INLINE void register_block(const Block& block, int64_t i) {
  const Floats d;
  const int64_t row_stride = block.a.row_stride, column_stride = block.a.column_stride;
  const float* HWY_RESTRICT panel = block.panel;
  // One pointer for three rows. One for all of them would need more registers for the distances than there are.
  constexpr int kGroup = 3, kGroups = (kCount + kGroup - 1) / kGroup;
  const float* HWY_RESTRICT rows[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    rows[g] = block.a.data + (i + g * kGroup) * row_stride;
    asm("" : "+r"(rows[g]));  // else the compiler makes one of them
  }
  Vector sums[kCount][kVectors];
  // The result is often not in L1, a weight's gradient not even in L2: ask for it before the loop that needs it last.
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; v += kVectorsPerLine) {
      hwy::Prefetch(block.c + (i + r) * block.c_stride + v * kLanes);
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  // Weights come from L3 or from memory: the first two blocks of rows ask for the next panel, half a row at each step.
  const bool asks = block.next != nullptr && i < 2 * kRows;
  const float* ahead = asks ? block.next + i / kRows * block.depth * kLanes : panel;
  const int64_t ahead_step = asks ? kLanes : 0;
  for (int64_t k = 0; k < block.depth; ++k, panel += kPanel, ahead += ahead_step) {
    __builtin_prefetch(ahead, /*rw=*/0, /*locality=*/2);
    Vector b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(d, panel + v * kLanes);
    for (int r = 0; r < kCount; ++r) {
      const Vector x = hn::Set(d, rows[r / kGroup][r % kGroup * row_stride]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
    for (int g = 0; g < kGroups; ++g) rows[g] += column_stride;
  }
  if (block.columns == kVectors * kLanes) {
    put<true>(block, i, sums);
  } else {
    put<false>(block, i, sums);
  }
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
                target.row_scale_stride,
                nullptr};
    for (int64_t j = 0; j < shape.columns; j += kPanel) {
      block.panel = packed + j * shape.depth + k * kPanel;
      block.c = target.data + (j / kPanel) * panel_stride;
      block.columns = std::min(kPanel, shape.columns - j);
      block.next = j + kPanel < shape.columns ? block.panel + kPanel * shape.depth : nullptr;
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
      const bool direct = shape.columns <= kDirectPanels * kPanel && a_stride <= kDirectStride;
      if (!direct) pack_left(a + k * a_stride + i, a_stride, depth, rows, space);
      for (int64_t j = 0; j < shape.columns; j += kPanel) {
        for (int64_t ir = 0; ir < rows; ir += kRows) {
          const int64_t width = std::min<int64_t>(kRows, rows - ir);
          one_panel(
              {direct ? MatrixView{a + k * a_stride + i + ir, 1, a_stride} : MatrixView{space + ir * depth, 1, width},
               packed + j * shape.depth + k * kPanel, depth, c + (i + ir) * c_stride + j, c_stride,
               std::min(kPanel, shape.columns - j), add || k > 0, nullptr, nullptr, 0, nullptr},
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
