#include "kernels/optimizer_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/cpu_targets.h"

namespace primal::kernels {
namespace {

using tests::on_every_cpu_target;

constexpr int64_t kMargin = 8;  // elements before and after, which no kernel may touch
constexpr double kUntouched = -77;

struct Case {
  std::string name;
  StepCoefficients coefficients;
  bool has_m, has_v;
};

// Numbers that make every term count.
std::vector<Case> cases() {
  StepCoefficients c{.gradient_scale = 0.7, .l2 = 0.3, .keep = 0.9, .step_g = 0.25};
  std::vector<Case> all{{"plain", c, false, false}};
  c.beta1 = 0.8, c.gain1 = 0.6, c.step_m = 0.5;
  all.push_back({"momentum", c, true, false});
  c.beta2 = 0.95, c.root_scale = 1.5, c.eps = 0.01;
  all.push_back({"unadapted", c, true, true});
  c.adaptive = true;
  all.push_back({"adaptive", c, true, true});
  return all;
}

/// The arrays of one call. They begin `offset` elements into their memory, so that no vector is aligned.
template <typename T>
struct Call {
  Call(const Case& which, int64_t call_size, int64_t call_offset) : size(call_size), offset(kMargin + call_offset) {
    std::mt19937 random(static_cast<unsigned>(call_size));
    std::normal_distribution<double> normal;
    for (auto* array : {&p, &gradient, &m, &v}) {
      array->assign(static_cast<size_t>(offset + size + kMargin), static_cast<T>(kUntouched));
      for (int64_t i = 0; i < size; ++i) (*array)[index(i)] = static_cast<T>(normal(random));
    }
    for (int64_t i = 0; i < size; ++i) v[index(i)] *= v[index(i)];
    has_m = which.has_m, has_v = which.has_v;
  }

  size_t index(int64_t i) const { return static_cast<size_t>(offset + i); }

  void run(const StepCoefficients& c, int64_t first, int64_t count) {
    const int64_t at = offset + first;
    optimizer_step(
        c, count,
        {p.data() + at, gradient.data() + at, has_m ? m.data() + at : nullptr, has_v ? v.data() + at : nullptr});
  }

  int64_t size, offset;
  std::vector<T> p, gradient, m, v;
  bool has_m = false, has_v = false;
};

struct Element {
  double p, m, v;
};

// The formula of the header, in double.
Element plain_step(const StepCoefficients& c, bool has_m, bool has_v, Element e, double gradient) {
  const double g = c.gradient_scale * gradient + c.l2 * e.p;
  if (has_m) e.m = c.beta1 * e.m + c.gain1 * g;
  if (has_v) e.v = c.beta2 * e.v + (1 - c.beta2) * g * g;
  const double direction = c.adaptive ? e.m / (std::sqrt(e.v) * c.root_scale + c.eps) : e.m;
  e.p = c.keep * e.p - c.step_g * g - (has_m ? c.step_m * direction : 0);
  return e;
}

template <typename T>
Element element(const Call<T>& call, size_t i) {
  return {static_cast<double>(call.p[i]), static_cast<double>(call.m[i]), static_cast<double>(call.v[i])};
}

template <typename T>
void expect_agrees_with_plain_step(const Case& which, int64_t size, int64_t offset) {
  const double tolerance = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const Call<T> before(which, size, offset);
  Call<T> call = before;
  call.run(which.coefficients, 0, size);
  EXPECT_EQ(call.gradient, before.gradient);
  for (size_t i = 0; i < call.p.size(); ++i) {
    const Element actual = element(call, i);
    Element expected = element(before, i);
    if (i >= before.index(0) && i < before.index(size)) {
      const auto gradient = static_cast<double>(before.gradient[i]);
      expected = plain_step(which.coefficients, which.has_m, which.has_v, expected, gradient);
    }
    ASSERT_NEAR(actual.p, expected.p, tolerance * (1 + std::abs(expected.p))) << "p, element " << i;
    ASSERT_NEAR(actual.m, expected.m, tolerance * (1 + std::abs(expected.m))) << "m, element " << i;
    ASSERT_NEAR(actual.v, expected.v, tolerance * (1 + std::abs(expected.v))) << "v, element " << i;
  }
}

template <typename T>
class OptimizerStepKernel : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerStepKernel, Types);

// Every size up to more than four of the widest vectors.
TYPED_TEST(OptimizerStepKernel, IsTheFormulaAndTouchesNothingElse) {
  on_every_cpu_target([] {
    for (const Case& which : cases()) {
      for (int64_t size = 0; size <= 70; ++size) {
        SCOPED_TRACE(which.name + ", size " + std::to_string(size));
        expect_agrees_with_plain_step<TypeParam>(which, size, size % 5);
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TYPED_TEST(OptimizerStepKernel, AnyDivisionIntoBlocksGivesTheSameBits) {
  on_every_cpu_target([] {
    for (const Case& which : cases()) {
      SCOPED_TRACE(which.name);
      Call<TypeParam> whole(which, 131, 1), parts(which, 131, 1);
      whole.run(which.coefficients, 0, 131);
      int64_t first = 0;
      for (const int64_t size : {1, 16, 0, 37, 64, 13}) {
        parts.run(which.coefficients, first, size);
        first += size;
      }
      ASSERT_EQ(first, 131);
      EXPECT_EQ(parts.p, whole.p);
      EXPECT_EQ(parts.m, whole.m);
      EXPECT_EQ(parts.v, whole.v);
    }
  });
}

TYPED_TEST(OptimizerStepKernel, ANotANumberStaysInItsElement) {
  on_every_cpu_target([] {
    for (const Case& which : cases()) {
      Call<TypeParam> call(which, 37, 3);
      call.gradient[call.index(20)] = std::numeric_limits<TypeParam>::quiet_NaN();
      call.run(which.coefficients, 0, 37);
      for (int64_t i = 0; i < 37; ++i) EXPECT_EQ(std::isnan(call.p[call.index(i)]), i == 20) << "element " << i;
    }
  });
}

TYPED_TEST(OptimizerStepKernel, SumOfSquaresIsTheSum) {
  on_every_cpu_target([] {
    for (int64_t size = 0; size <= 150; ++size) {
      const Call<TypeParam> call(cases().front(), size, size % 7);
      double expected = 0;
      for (int64_t i = 0; i < size; ++i) expected += std::pow(static_cast<double>(call.gradient[call.index(i)]), 2);
      ASSERT_NEAR(sum_of_squares(call.gradient.data() + call.offset, size), expected, 1e-14 * (1 + expected))
          << "size " << size;
    }
  });
}

// A float sum would stop at 2^24, and the square of 1e30 is beyond float.
TEST(SumOfSquares, OfFloatsIsKeptInDouble) {
  on_every_cpu_target([] {
    const std::vector<float> ones((1 << 24) + 5, 1.0F), large(3, 1e30F);
    EXPECT_EQ(sum_of_squares(ones.data(), static_cast<int64_t>(ones.size())), (1 << 24) + 5);
    EXPECT_NEAR(sum_of_squares(large.data(), 3), 3e60, 1e54);
  });
}

}  // namespace
}  // namespace primal::kernels
