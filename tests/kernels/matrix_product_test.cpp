#include "kernels/matrix_product.h"

#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/cpu_targets.h"
#include "support/expected.h"

namespace primal::kernels {
namespace {

using tests::Expected;
using tests::on_every_cpu_target;

constexpr float kUntouched = -77;  // what stands where a kernel must not write
constexpr int64_t kMargin = 40;    // elements around a result, more than the widest panel

std::vector<float> random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

/// Random numbers whose rows (transposed: columns) are three apart in memory that begins misaligned. What lies between
/// is NaN, which would spread if it were read.
struct Matrix {
  Matrix(int64_t rows, int64_t columns, bool transposed, unsigned seed)
      : memory(static_cast<size_t>(1 + (transposed ? columns * (rows + 3) : rows * (columns + 3))),
               std::numeric_limits<float>::quiet_NaN()),
        view{memory.data() + 1, transposed ? 1 : columns + 3, transposed ? rows + 3 : 1} {
    const std::vector<float> numbers = random_numbers(rows * columns, seed);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < columns; ++k) {
        memory[static_cast<size_t>(1 + i * view.row_stride + k * view.column_stride)] =
            numbers[static_cast<size_t>(i * columns + k)];
      }
    }
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  double at(int64_t i, int64_t k) const { return view.data[i * view.row_stride + k * view.column_stride]; }

  std::vector<float> memory;
  MatrixView view;
};

/// The panels of b, aligned as the products read them, and kMargin elements after them.
struct Panels {
  Panels(MatrixView b, int64_t depth, int64_t columns)
      : size(packed_size(depth, columns)), memory(hwy::AllocateAligned<float>(static_cast<size_t>(size + kMargin))) {
    std::fill_n(memory.get(), size + kMargin, kUntouched);
    pack(b, depth, columns, memory.get());
  }
  std::vector<float> all() const { return {memory.get(), memory.get() + size + kMargin}; }

  int64_t size;
  hwy::AlignedFreeUniquePtr<float[]> memory;
};

struct Case {
  std::string name;
  bool a_transposed, b_transposed, panels, add, bias, row_scale;
};

std::vector<Case> cases() {
  return {{"plain", false, false, false, false, false, false},
          {"add", false, false, false, true, false, false},
          {"bias, b transposed", false, true, false, false, true, false},
          {"row scale, a transposed", true, false, false, false, false, true},
          {"panels", false, false, true, false, false, false},
          {"everything", true, true, false, true, true, true},
          {"everything in panels", true, true, true, true, true, true}};
}

/// One product of random matrices, into rows (of panels) that are further apart than they are long.
struct Call {
  Call(const Case& which, ProductShape call_shape)
      : shape(call_shape),
        options(which),
        a(shape.rows, shape.depth, which.a_transposed, 1),
        b(shape.depth, shape.columns, which.b_transposed, 2),
        panels(b.view, shape.depth, shape.columns),
        bias(random_numbers(shape.columns, 3)),
        scale(random_numbers(3 * shape.rows + 1, 4)) {
    const int64_t width = panel_width();
    row_stride = (which.panels ? width : shape.columns) + 1;
    panel_stride = which.panels ? shape.rows * row_stride + 5 : 0;
    const int64_t count = which.panels ? (shape.columns / width + 1) * panel_stride : shape.rows * row_stride;
    out.assign(static_cast<size_t>(count + 2 * kMargin), kUntouched);
  }

  size_t index(int64_t i, int64_t j) const {
    const int64_t width = panel_width();
    const int64_t at = options.panels ? (j / width) * panel_stride + j % width : j;
    return static_cast<size_t>(kMargin + 1 + i * row_stride + at);
  }

  /// Rows first .. first + rows - 1.
  void run(int64_t first, int64_t rows) {
    const MatrixView part{a.view.data + first * a.view.row_stride, a.view.row_stride, a.view.column_stride};
    multiply(part, panels.memory.get(), {rows, shape.columns, shape.depth},
             {out.data() + index(first, 0), row_stride, panel_stride, options.add, options.bias ? bias.data() : nullptr,
              options.row_scale ? scale.data() + 3 * first : nullptr, 3});
  }

  Expected expected() const {
    Expected result(out);
    for (int64_t i = 0; i < shape.rows; ++i) {
      const double factor = options.row_scale ? static_cast<double>(scale[static_cast<size_t>(3 * i)]) : 1.0;
      for (int64_t j = 0; j < shape.columns; ++j) {
        double product = 0, size = 0;
        for (int64_t k = 0; k < shape.depth; ++k) {
          const double term = a.at(i, k) * b.at(k, j);
          product += term;
          size += std::abs(term);
        }
        const double before = options.add ? static_cast<double>(out[index(i, j)]) : 0.0;
        const double shift = options.bias ? static_cast<double>(bias[static_cast<size_t>(j)]) : 0.0;
        result.value[index(i, j)] = factor * product + shift + before;
        result.tolerance[index(i, j)] = 1e-6 * (std::abs(factor) * size + std::abs(shift) + std::abs(before));
      }
    }
    return result;
  }

  ProductShape shape;
  Case options;
  Matrix a, b;
  Panels panels;
  std::vector<float> bias, scale, out;
  int64_t row_stride, panel_stride;
};

void expect_is_the_product(ProductShape shape) {
  for (const Case& which : cases()) {
    SCOPED_TRACE(testing::Message() << which.name << ", " << shape.rows << " x " << shape.depth << " x "
                                    << shape.columns);
    Call call(which, shape);
    const Expected expected = call.expected();
    call.run(0, shape.rows);
    expected.expect_equal(call.out);
  }
}

TEST(Pack, LaysOutPanelsAndFillsTheLastWithZeros) {
  on_every_cpu_target([] {
    const int64_t width = panel_width();
    for (const bool transposed : {false, true}) {
      for (int64_t columns = 0; columns <= 2 * width + 3; ++columns) {
        for (const int64_t depth : {0, 1, 63, 64, 65, 130}) {
          SCOPED_TRACE(testing::Message() << depth << " x " << columns << (transposed ? ", transposed" : ""));
          const Matrix b(depth, columns, transposed, 5);
          const Panels panels(b.view, depth, columns);
          ASSERT_EQ(panels.size, depth * ((columns + width - 1) / width * width));
          std::vector<float> expected(static_cast<size_t>(panels.size), 0.0F);
          expected.insert(expected.end(), kMargin, kUntouched);
          for (int64_t k = 0; k < depth; ++k) {
            for (int64_t j = 0; j < columns; ++j) {
              expected[static_cast<size_t>((j / width * depth + k) * width + j % width)] =
                  static_cast<float>(b.at(k, j));
            }
          }
          ASSERT_EQ(panels.all(), expected);
        }
      }
    }
  });
}

// Up to three panels wide, and more than two blocks of registers high.
TEST(Multiply, IsTheProductForEveryWidthAndHeight) {
  on_every_cpu_target([] {
    for (int64_t rows = 0; rows <= 26; ++rows) expect_is_the_product({rows, panel_width() + 3, 5});
    for (int64_t columns = 0; columns <= 2 * panel_width() + 3; ++columns) {
      for (const int64_t rows : {0, 1, 14}) expect_is_the_product({rows, columns, 9});
      if (testing::Test::HasFailure()) return;
    }
  });
}

// A depth of more than 512 is summed in blocks. Without depth the product is 0, and bias and sum remain.
TEST(Multiply, IsTheProductForEveryDepth) {
  on_every_cpu_target([] {
    for (const int64_t depth : {0, 1, 2, 511, 512, 513, 1030}) {
      expect_is_the_product({7, 2 * panel_width(), depth});
      expect_is_the_product({3, panel_width() - 1, depth});
    }
  });
}

TEST(Multiply, ARowHasTheSameBitsWhateverTheNumberOfRows) {
  on_every_cpu_target([] {
    for (const Case& which : cases()) {
      const ProductShape shape{29, panel_width() + 3, 1030};
      Call whole(which, shape);
      whole.run(0, shape.rows);
      for (int64_t rows = 1; rows <= 13; ++rows) {
        SCOPED_TRACE(testing::Message() << which.name << ", " << rows << " rows at a time");
        Call parts(which, shape);
        for (int64_t i = 0; i < shape.rows; i += rows) parts.run(i, std::min(rows, shape.rows - i));
        ASSERT_EQ(parts.out, whole.out);
      }
    }
  });
}

/// Adds outer products to random numbers whose rows are two further apart than they are long.
struct OuterCall {
  explicit OuterCall(ProductShape call_shape)
      : shape(call_shape),
        stride(shape.columns + 2),
        a(shape.depth, shape.rows, false, 6),
        b(shape.depth, shape.columns, false, 7),
        c(random_numbers(shape.rows * stride + 2 * kMargin, 8)) {}

  void run(int64_t first, int64_t rows, bool add = true) {
    const Panels packed(b.view, shape.depth, shape.columns);
    const ProductShape part{rows, shape.columns, shape.depth};
    const auto size = static_cast<size_t>(outer_products_space(part));
    std::vector<float> space(size + 1, kUntouched);  // the last one is not the kernel's
    add_outer_products(a.view.data + first, a.view.row_stride, packed.memory.get(), part,
                       c.data() + kMargin + 1 + first * stride, stride, add, space.data());
    EXPECT_EQ(space.back(), kUntouched);
  }

  Expected expected(bool add = true) const {
    Expected result(c);
    for (int64_t i = 0; i < shape.rows; ++i) {
      if (!add) std::fill_n(result.value.begin() + kMargin + 1 + i * stride, shape.columns, 0.0);
      for (int64_t k = 0; k < shape.depth; ++k) {
        double* sums = result.value.data() + kMargin + 1 + i * stride;
        for (int64_t j = 0; j < shape.columns; ++j) sums[j] += a.at(k, i) * b.at(k, j);
      }
      std::fill_n(result.tolerance.begin() + kMargin + 1 + i * stride, shape.columns,
                  1e-6 * static_cast<double>(shape.depth));
    }
    return result;
  }

  ProductShape shape;
  int64_t stride;
  Matrix a, b;
  std::vector<float> c;
};

// Its blocks have 96 rows and a depth of 512; up to four panels the left side is read in place, unless its rows are
// more than 512 numbers apart.
TEST(AddOuterProducts, AddsTheProductAroundItsBlocks) {
  const ProductShape shapes[] = {{0, 5, 4},      {5, 0, 4},      {5, 4, 0},     {1, 1, 1},
                                 {95, 33, 511},  {96, 31, 512},  {97, 34, 513}, {193, 7, 3},
                                 {200, 3, 1025}, {6, 511, 10},   {12, 512, 11}, {13, 513, 9},
                                 {2, 1030, 514}, {98, 515, 515}, {512, 20, 9},  {530, 20, 9}};
  for (const ProductShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.depth << " x " << shape.columns);
    for (const bool add : {true, false}) {
      const Expected expected = OuterCall(shape).expected(add);
      on_every_cpu_target([&] {
        OuterCall call(shape);
        call.run(0, shape.rows, add);
        expected.expect_equal(call.c);
      });
    }
  }
}

TEST(AddOuterProducts, PartsOfTheRowsGiveTheSameBits) {
  for (const ProductShape& shape : {ProductShape{205, 515, 514}, ProductShape{205, 17, 514}}) {
    on_every_cpu_target([&] {
      OuterCall whole(shape), parts(shape);
      whole.run(0, shape.rows);
      int64_t first = 0;
      for (const int64_t rows : {1, 0, 97, 5, 96, 6}) {
        parts.run(first, rows);
        first += rows;
      }
      ASSERT_EQ(first, shape.rows);
      EXPECT_EQ(parts.c, whole.c);
    });
  }
}

}  // namespace
}  // namespace primal::kernels
