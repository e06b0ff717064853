#include "kernels/head_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/cpu_targets.h"

namespace primal::kernels {
namespace {

using tests::on_every_cpu_target;

constexpr float kUntouched = -77;    // what stands where a kernel must not write
constexpr int64_t kMargin = 20;      // elements before and after, more than the widest vector
constexpr double kTolerance = 2e-6;  // of the sum of the sizes of the terms
constexpr float kLargestInverse = 1 / 1e-12F;

/// Random numbers between margins, beginning misaligned.
struct Array {
  Array(int64_t count, unsigned seed) : memory(static_cast<size_t>(count + 2 * kMargin), kUntouched) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) data()[i] = normal(random);
  }
  explicit Array(const std::vector<float>& numbers) : Array(static_cast<int64_t>(numbers.size()), 0) {
    std::copy(numbers.begin(), numbers.end(), data());
  }
  float* data() { return memory.data() + kMargin + 1; }
  const float* data() const { return memory.data() + kMargin + 1; }
  double operator[](int64_t i) const { return data()[i]; }

  std::vector<float> memory;
};

/// What should be in an array after a call. Where the call writes nothing, the tolerance stays 0.
struct Expected {
  explicit Expected(const Array& before)
      : value(before.memory.begin(), before.memory.end()), tolerance(value.size(), 0.0) {}

  void set(int64_t i, double number) { put(i, number, std::abs(number)); }
  void put(int64_t i, double number, double size_of_terms) {
    value[static_cast<size_t>(kMargin + 1 + i)] = number;
    tolerance[static_cast<size_t>(kMargin + 1 + i)] = kTolerance * size_of_terms;
  }

  void expect_equal(const Array& actual) const {
    ASSERT_EQ(actual.memory.size(), value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      if (!(std::abs(actual.memory[i] - value[i]) <= tolerance[i])) {
        FAIL() << "element " << i << " is " << actual.memory[i] << " instead of " << value[i] << " +- " << tolerance[i];
      }
    }
  }

  std::vector<double> value, tolerance;
};

/// Pieces of every width up to more than four of the widest vectors, with gaps between the rows.
template <typename Body>
void for_each_shape(const Body& body) {
  on_every_cpu_target([&] {
    for (int64_t width = 1; width <= 70; ++width) {
      for (const int64_t rows : {0, 1, 5}) {
        for (const int64_t heads : {1, 3}) {
          SCOPED_TRACE(testing::Message() << rows << " rows of " << heads << " pieces of " << width);
          body(HeadShape{rows, heads, width, heads * width + width % 3});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

template <typename Body>
void for_each_score_shape(const Body& body) {
  for_each_shape([&](HeadShape shape) { body(ScoreShape{shape.rows, shape.heads, shape.width}); });
}

TEST(InverseLengths, AreThoseOfThePieces) {
  for_each_shape([](HeadShape shape) {
    const Array x(shape.rows * shape.stride, 1);
    Array inverse(shape.rows * shape.heads, 2);
    Expected expected(inverse);
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        double sum = 0;
        for (int64_t c = 0; c < shape.width; ++c) sum += std::pow(x[i * shape.stride + h * shape.width + c], 2);
        expected.set(i * shape.heads + h, 1 / std::sqrt(sum));
      }
    }
    inverse_lengths(x.data(), shape, inverse.data());
    expected.expect_equal(inverse);
  });
}

TEST(InverseLengths, AreClampedAtTheSmallestLength) {
  on_every_cpu_target([] {
    // Zeros, a length whose square is beyond float32, one below the clamp, two above.
    const Array x({0, 0, 0, 0, 0, 1e-30F, 3e-13F, 4e-13F, 0, 1.2e-12F, 0, 1.6e-12F, 0, 3e-10F, -4e-10F});
    Array inverse(5, 2);
    inverse_lengths(x.data(), {5, 1, 3, 3}, inverse.data());
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(inverse[i], kLargestInverse) << "row " << i;
    EXPECT_NEAR(inverse[3], 5e11, 1e6);
    EXPECT_NEAR(inverse[4], 2e9, 1e4);
  });
}

TEST(NegatedMultiples, AreTheNegatedPiecesTimesTheirFactors) {
  for_each_shape([](HeadShape shape) {
    const int64_t out_stride = shape.heads * shape.width + 2;
    const Array x(shape.rows * shape.stride, 1), factor(shape.rows * shape.heads, 2);
    Array out(shape.rows * out_stride, 3);
    Expected expected(out);
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t c = 0; c < shape.heads * shape.width; ++c) {
        expected.set(i * out_stride + c, -factor[i * shape.heads + c / shape.width] * x[i * shape.stride + c]);
      }
    }
    negated_multiples(x.data(), shape, factor.data(), out.data(), out_stride);
    expected.expect_equal(out);
  });
}

TEST(WeightedSquares, AreTheSumsOfEachRow) {
  for_each_score_shape([](ScoreShape shape) {
    const int64_t width = shape.row_width();
    const Array scores(shape.rows * width, 1), first_weight(width, 2), second_weight(width, 3);
    Array first(shape.rows, 4), second(shape.rows, 5);
    Expected expected_first(first), expected_second(second);
    for (int64_t i = 0; i < shape.rows; ++i) {
      double sums[2] = {0, 0}, sizes[2] = {0, 0};
      for (int64_t j = 0; j < width; ++j) {
        const double square = std::pow(scores[i * width + j], 2);
        sums[0] += first_weight[j] * square;
        sums[1] += second_weight[j] * square;
        sizes[0] += std::abs(first_weight[j]) * square;
        sizes[1] += std::abs(second_weight[j]) * square;
      }
      expected_first.put(i, sums[0], sizes[0]);
      expected_second.put(i, sums[1], sizes[1]);
    }
    weighted_squares(scores.data(), shape, first_weight.data(), second_weight.data(), first.data(), second.data());
    expected_first.expect_equal(first);
    expected_second.expect_equal(second);
  });
}

TEST(AddSquares, AddsThoseOfAllRows) {
  for_each_score_shape([](ScoreShape shape) {
    const int64_t width = shape.row_width();
    const Array scores(shape.rows * width, 1);
    Array sums(width, 2);
    Expected expected(sums);
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < shape.rows; ++i) sum += std::pow(scores[i * width + j], 2);
      expected.put(j, sums[j] + sum, std::abs(sums[j]) + sum);
    }
    add_squares(scores.data(), shape, sums.data());
    expected.expect_equal(sums);
  });
}

TEST(AddColumnSums, AddsAllRows) {
  for_each_shape([](HeadShape shape) {
    const Array x(shape.rows * shape.stride, 1);
    Array sums(shape.width, 2);
    Expected expected(sums);
    for (int64_t j = 0; j < shape.width; ++j) {
      double sum = sums[j], size = std::abs(sums[j]);
      for (int64_t i = 0; i < shape.rows; ++i) {
        sum += x[i * shape.stride + j];
        size += std::abs(x[i * shape.stride + j]);
      }
      expected.put(j, sum, size);
    }
    add_column_sums(x.data(), shape.rows, shape.width, shape.stride, sums.data());
    expected.expect_equal(sums);
  });
}

TEST(ScoreGradient, IsTheFormulaAndTouchesNothingElse) {
  for_each_score_shape([](ScoreShape shape) {
    const int64_t width = shape.row_width(), pieces = 2 * shape.heads;
    const Array scores(shape.rows * width, 1), slope(width, 2), inverse(shape.rows * pieces, 3);
    Array gradient(shape.rows * width, 4), along(shape.rows * pieces, 5);
    Expected expected(gradient), expected_along(along);
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const bool of_k = piece % 2 == 1;  // e, the scores of q, then r, those of k
        const int64_t where = i * pieces + (of_k ? shape.heads : 0) + piece / 2;
        double sum = 0, sum_of_sizes = 0;
        for (int64_t j = piece * shape.rank; j < (piece + 1) * shape.rank; ++j) {
          const int64_t at = i * width + j;
          const double whole = gradient[at] + slope[j] * scores[at];
          const double size = std::abs(gradient[at]) + std::abs(slope[j] * scores[at]);
          sum += scores[at] * whole;
          sum_of_sizes += std::abs(scores[at]) * size;
          expected.put(at, whole * inverse[where], size * std::abs(inverse[where]));
        }
        const double square = std::pow(inverse[where], 2);
        expected_along.put(where, sum * square, sum_of_sizes * square);
      }
    }
    score_gradient(scores.data(), shape, slope.data(), inverse.data(), gradient.data(), along.data());
    expected.expect_equal(gradient);
    expected_along.expect_equal(along);
  });
}

TEST(ScoreGradient, HasNoPartAlongAClampedPiece) {
  on_every_cpu_target([] {
    const ScoreShape shape{1, 2, 3};
    const float below = std::nextafter(kLargestInverse, 0.0F);
    const Array scores({1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}), slope(std::vector<float>(12, 0.0F));
    const Array inverse({kLargestInverse, 2, below, kLargestInverse});  // of q's heads, then k's
    Array gradient(std::vector<float>(12, 1.0F)), along(4, 1);
    score_gradient(scores.data(), shape, slope.data(), inverse.data(), gradient.data(), along.data());
    EXPECT_EQ(along[0], 0);
    EXPECT_EQ(along[1], 6 * 4);
    EXPECT_NEAR(along[2], 6e24, 1e19);
    EXPECT_EQ(along[3], 0);
    for (int64_t j = 0; j < 12; ++j) {
      EXPECT_EQ(gradient[j], j < 3 ? kLargestInverse : j < 6 ? below : j < 9 ? 2 : kLargestInverse) << "score " << j;
    }
  });
}

// s = q W / |q|, loss = <g, s> + <slope, s^2> / 2. Then its gradient for q is W gradient - along q.
TEST(ScoreGradient, WithNegatedMultiplesIsTheSlopeOfALoss) {
  on_every_cpu_target([] {
    constexpr int64_t kWidth = 7, kRank = 5;
    const Array q(kWidth, 1), w(kWidth * kRank, 2), g(2 * kRank, 3), slope(2 * kRank, 4);
    std::vector<double> s(kRank);
    const auto loss = [&](int64_t moved, double step) {
      double squares = 0, sum = 0;
      for (int64_t c = 0; c < kWidth; ++c) squares += std::pow(q[c] + (c == moved ? step : 0), 2);
      for (int64_t j = 0; j < kRank; ++j) {
        double product = 0;
        for (int64_t c = 0; c < kWidth; ++c) product += (q[c] + (c == moved ? step : 0)) * w[c * kRank + j];
        const double score = s[static_cast<size_t>(j)] = product / std::sqrt(squares);
        sum += g[j] * score + slope[j] * score * score / 2;
      }
      return sum;
    };
    loss(0, 0);
    Array scores(2 * kRank, 5), gradient = g, inverse(std::vector<float>{1, 1}), along(2, 6), q_gradient(kWidth, 7);
    std::copy(s.begin(), s.end(), scores.data());
    inverse_lengths(q.data(), {1, 1, kWidth, kWidth}, inverse.data());
    score_gradient(scores.data(), {1, 1, kRank}, slope.data(), inverse.data(), gradient.data(), along.data());
    negated_multiples(q.data(), {1, 1, kWidth, kWidth}, along.data(), q_gradient.data(), kWidth);
    for (int64_t c = 0; c < kWidth; ++c) {
      double actual = q_gradient[c];
      for (int64_t j = 0; j < kRank; ++j) actual += w[c * kRank + j] * gradient[j];
      EXPECT_NEAR(actual, (loss(c, 1e-5) - loss(c, -1e-5)) / 2e-5, 2e-5) << "channel " << c;
    }
  });
}

}  // namespace
}  // namespace primal::kernels
