#include "kernels/softmax_row.h"

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

constexpr float kUntouched = -77;
constexpr int64_t kMargin = 20;  // elements before and after, more than the widest vector
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Numbers with margins; the row begins misaligned.
struct SoftmaxRow {
  std::vector<float> all;
  int64_t count;

  SoftmaxRow(int64_t n, float mean) : all(static_cast<size_t>(n + 2 * kMargin), kUntouched), count(n) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(mean, 3);
    for (int64_t i = 0; i < n; ++i) data()[i] = normal(random);
  }
  float* data() { return all.data() + kMargin + 1; }
};

/// Every count up to four of the widest vectors, and some around what is summed in floats.
template <typename Body>
void for_each_row(const Body& body) {
  on_every_cpu_target([&] {
    for (const float mean : {0.0F, -200.0F, 200.0F}) {
      for (int64_t count = 1; count <= 9000; count += count < 70 ? 1 : 4027) {
        SCOPED_TRACE(testing::Message() << count << " numbers around " << mean);
        body(SoftmaxRow(count, mean));
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(SoftmaxRow, SumsAreThoseOfTheFormula) {
  for_each_row([](SoftmaxRow row) {
    const float* x = row.data();
    const double largest = *std::max_element(x, x + row.count);
    double exponentials = 0, numbers = 0;
    for (int64_t i = 0; i < row.count; ++i) {
      exponentials += std::exp(x[i] - largest);
      numbers += x[i];
    }
    const SoftmaxSums sums = softmax_sums(x, row.count);
    EXPECT_EQ(sums.largest, largest);
    EXPECT_NEAR(sums.exponentials, exponentials, 3e-6 * exponentials);
    EXPECT_NEAR(sums.numbers, numbers, 3e-6 * 210 * static_cast<double>(row.count));
  });
}

TEST(SoftmaxRow, ExponentialsReplaceTheRowAndNothingElse) {
  for_each_row([](SoftmaxRow row) {
    SoftmaxRow before = row;
    const SoftmaxSums expected = softmax_sums(row.data(), row.count);
    const SoftmaxSums sums = softmax_exponentials(row.data(), row.count);
    EXPECT_EQ(sums.largest, expected.largest);
    EXPECT_EQ(sums.exponentials, expected.exponentials);
    EXPECT_EQ(sums.numbers, expected.numbers);
    for (int64_t i = 0; i < row.count; ++i) {
      const double e = std::exp(before.data()[i] - sums.largest);
      ASSERT_NEAR(row.data()[i], e, 3e-6 * e) << "element " << i;
      row.data()[i] = before.data()[i];
    }
    EXPECT_EQ(row.all, before.all);
  });
}

TEST(SoftmaxRow, ProbabilitiesAreMadeOfTheSums) {
  for_each_row([](SoftmaxRow row) {
    SoftmaxRow before = row;
    const SoftmaxSums sums = softmax_sums(row.data(), row.count);
    const double log_sum = std::log(sums.exponentials);
    softmax_probabilities(row.data(), row.count, static_cast<float>(sums.largest), static_cast<float>(log_sum));
    for (int64_t i = 0; i < row.count; ++i) {
      const double p = std::exp(before.data()[i] - sums.largest - log_sum);
      ASSERT_NEAR(row.data()[i], p, 5e-6 * p) << "element " << i;
      row.data()[i] = before.data()[i];
    }
    EXPECT_EQ(row.all, before.all);
  });
}

TEST(SoftmaxRow, TheGradientOfScoresIsThatOfTheFormulaAndNothingElseChanges) {
  for_each_row([](SoftmaxRow row) {
    SoftmaxRow p(row.count, 1), kept(row.count, 2), expected = row;
    softmax_gradient(p.data(), kept.data(), row.data(), row.count, 0.25F);
    for (int64_t i = 0; i < row.count; ++i) {
      expected.data()[i] = kept.data()[i] * expected.data()[i] - 0.25F * p.data()[i];
      ASSERT_NEAR(row.data()[i], expected.data()[i], 1e-4 * (1 + std::abs(expected.data()[i]))) << "element " << i;
      row.data()[i] = expected.data()[i];
    }
    EXPECT_EQ(row.all, expected.all);
  });
}

TEST(SoftmaxRow, ScalesAndShiftsTheRowAndNothingElse) {
  for_each_row([](SoftmaxRow row) {
    SoftmaxRow before = row;
    scale_and_shift(row.data(), row.count, 0.5F, 0.25F);
    for (int64_t i = 0; i < row.count; ++i) {
      ASSERT_NEAR(row.data()[i], 0.5 * before.data()[i] - 0.25, 1e-5) << "element " << i;
      row.data()[i] = before.data()[i];
    }
    EXPECT_EQ(row.all, before.all);
  });
}

TEST(SoftmaxRow, MinusInfinityIsAProbabilityOfZero) {
  on_every_cpu_target([] {
    std::vector<float> x(37, 2.0F);
    x[5] = x[36] = -kInfinity;
    EXPECT_EQ(softmax_exponentials(x.data(), 37).exponentials, 35);
    EXPECT_EQ(x[5], 0);
    EXPECT_EQ(x[36], 0);
  });
}

TEST(SoftmaxRow, ANotANumberAnywhereShows) {
  on_every_cpu_target([] {
    for (size_t i = 0; i < 37; ++i) {
      std::vector<float> x(37, 0.5F);
      x[i] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(softmax_sums(x.data(), 37).exponentials)) << "element " << i;
    }
  });
}

}  // namespace
}  // namespace primal::kernels
