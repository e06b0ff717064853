#include "kernels/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "support/cpu_targets.h"

namespace primal::kernels {
namespace {

using tests::on_every_cpu_target;

constexpr float kUntouched = -77;  // what stands where a kernel must not write
constexpr int64_t kMargin = 20;    // elements before and after, more than the widest vector
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

// The complementary error function keeps its digits in the left tail, where 1 + erf is 0.
double phi(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double gelu(double x) { return x * phi(x); }
double gelu_slope(double x) { return phi(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0)); }

struct Result {
  std::vector<float> value, gradient;
};

std::vector<float> forward(Activation activation, const std::vector<float>& x) {
  std::vector<float> value(x.size());
  activate(activation, x.data(), static_cast<int64_t>(x.size()), value.data());
  return value;
}

Result backward(Activation activation, const std::vector<float>& x, std::vector<float> gradient) {
  Result result{std::vector<float>(x.size()), std::move(gradient)};
  activate_backward(activation, x.data(), static_cast<int64_t>(x.size()), result.value.data(), result.gradient.data());
  return result;
}

/// The numbers of [-12, 12] in steps of 1/1024, and those of every size down to the smallest ones.
std::vector<float> grid() {
  std::vector<float> x;
  for (int i = -12 * 1024; i <= 12 * 1024; ++i) x.push_back(static_cast<float>(i) / 1024);
  for (float size = 1; size > 0; size /= 3) x.insert(x.end(), {size, -size});
  return x;
}

// x / sqrt(2) is rounded, squared, and rounded again: 4 roundings of 6e-8, which the exponential multiplies by x^2 / 2.
double relative_tolerance(double x) { return 1e-6 + 1.2e-7 * x * x; }

TEST(Gelu, IsXTimesTheNormalDistribution) {
  on_every_cpu_target([] {
    const std::vector<float> x = grid(), value = forward(Activation::gelu, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = gelu(x[i]);
      ASSERT_NEAR(value[i], expected, relative_tolerance(x[i]) * std::abs(expected) + 1e-44) << "x = " << x[i];
    }
  });
}

// The slope passes 0 near x = -0.75, with digits lost on both sides. The tails have none to lose.
TEST(Gelu, BackwardMultipliesTheGradientByTheSlope) {
  on_every_cpu_target([] {
    const std::vector<float> x = grid();
    std::vector<float> gradient(x.size());
    for (size_t i = 0; i < x.size(); ++i) gradient[i] = 0.5F + static_cast<float>(i % 7);
    const Result result = backward(Activation::gelu, x, gradient);
    EXPECT_EQ(result.value, forward(Activation::gelu, x));
    for (size_t i = 0; i < x.size(); ++i) {
      const double factor = gradient[i], slope = gelu_slope(x[i]);
      const double lost = x[i] > -3 && x[i] < 0 ? 2e-7 : 0.0;
      ASSERT_NEAR(result.gradient[i], factor * slope, factor * (relative_tolerance(x[i]) * std::abs(slope) + lost))
          << "x = " << x[i];
    }
  });
}

TEST(Gelu, OfLargeNumbersIsTheNumberOrZero) {
  on_every_cpu_target([] {
    const std::vector<float> x{15, 1e10F, 1e30F, kInfinity, -15, -1e10F, -1e30F};
    EXPECT_EQ(forward(Activation::gelu, x), (std::vector<float>{15, 1e10F, 1e30F, kInfinity, 0, 0, 0}));
    const std::vector<float> finite{15, 1e10F, 1e30F, -15, -1e10F, -1e30F};
    const Result result = backward(Activation::gelu, finite, std::vector<float>(finite.size(), 3.0F));
    EXPECT_EQ(result.gradient, (std::vector<float>{3, 3, 3, 0, 0, 0}));
  });
}

TEST(Relu, IsTheLargerOfXAndZero) {
  on_every_cpu_target([] {
    const std::vector<float> x{-kInfinity, -2, -1e-40F, -0.0F, 0, 1e-40F, 0.5F, 3, kInfinity};
    const std::vector<float> expected{0, 0, 0, 0, 0, 1e-40F, 0.5F, 3, kInfinity};
    EXPECT_EQ(forward(Activation::relu, x), expected);
    const Result result = backward(Activation::relu, x, std::vector<float>(x.size(), -7.0F));
    EXPECT_EQ(result.value, expected);
    EXPECT_EQ(result.gradient, (std::vector<float>{0, 0, 0, 0, 0, -7, -7, -7, -7}));
  });
}

TEST(Relu, DropsTheGradientOfNegativeNumbersWhateverItIs) {
  on_every_cpu_target([] {
    const Result result = backward(Activation::relu, {-1, 0, -1}, {kNotANumber, kInfinity, -kInfinity});
    EXPECT_EQ(result.gradient, (std::vector<float>{0, 0, 0}));
  });
}

class AnyActivation : public testing::TestWithParam<Activation> {
 protected:
  /// A row of `count` numbers with margins, which begins misaligned.
  std::vector<float> row(int64_t count, unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<size_t>(count + 2 * kMargin), kUntouched);
    for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(kMargin + 1 + i)] = normal(random);
    return numbers;
  }
};

TEST_P(AnyActivation, OfAnyCountTouchesNothingElse) {
  on_every_cpu_target([&] {
    for (int64_t count = 0; count <= 70; ++count) {
      SCOPED_TRACE(testing::Message() << "count " << count);
      const std::vector<float> x = row(count, 1), slope = row(count, 2);
      std::vector<float> expected(x.size(), kUntouched), expected_gradient = expected;
      for (int64_t i = 0; i < count; ++i) {  // one at a time
        const auto at = static_cast<size_t>(kMargin + 1 + i);
        const Result one = backward(GetParam(), {x[at]}, {slope[at]});
        expected[at] = one.value[0];
        expected_gradient[at] = one.gradient[0];
      }
      std::vector<float> out(x.size(), kUntouched), value = out, gradient = slope;
      activate(GetParam(), x.data() + kMargin + 1, count, out.data() + kMargin + 1);
      activate_backward(GetParam(), x.data() + kMargin + 1, count, value.data() + kMargin + 1,
                        gradient.data() + kMargin + 1);
      ASSERT_EQ(out, expected);
      ASSERT_EQ(value, expected);
      ASSERT_EQ(gradient, expected_gradient);
    }
  });
}

TEST_P(AnyActivation, MayReplaceItsInput) {
  on_every_cpu_target([&] {
    std::vector<float> x = row(37, 3);
    const std::vector<float> expected = forward(GetParam(), x);
    activate(GetParam(), x.data(), static_cast<int64_t>(x.size()), x.data());
    EXPECT_EQ(x, expected);
  });
}

TEST_P(AnyActivation, ANotANumberStaysInItsElement) {
  on_every_cpu_target([&] {
    std::vector<float> x(37, 0.5F);
    x[20] = x[36] = kNotANumber;
    const std::vector<float> value = forward(GetParam(), x);
    const Result result = backward(GetParam(), x, std::vector<float>(x.size(), 1.0F));
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::isnan(value[i]), i == 20 || i == 36) << "element " << i;
      EXPECT_EQ(std::isnan(result.value[i]), i == 20 || i == 36) << "element " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyActivation, testing::Values(Activation::gelu, Activation::relu),
                         [](const auto& kind) { return kind.param == Activation::gelu ? "gelu" : "relu"; });

}  // namespace
}  // namespace primal::kernels
