#include "kernels/flush_denormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace primal::kernels {
namespace {

// volatile: the CPU shall compute this, not the compiler.
template <typename T>
T half_of_the_smallest_normal_number() {
  volatile T smallest = std::numeric_limits<T>::min();
  volatile T half = static_cast<T>(smallest / 2);
  return half;
}

template <typename T>
T a_denormal_number_times_a_large_one() {
  volatile T denormal = std::numeric_limits<T>::denorm_min();
  volatile T product = static_cast<T>(denormal * std::numeric_limits<T>::max());
  return product;
}

class FlushDenormals : public testing::Test {
 protected:
  void SetUp() override {
    const FlushDenormalsGuard guard;
    if (!flushes_denormals()) GTEST_SKIP() << "not known how on this CPU";
  }
};

TEST_F(FlushDenormals, OffAThreadComputesWithDenormals) {
  const FlushDenormalsGuard guard(false);
  EXPECT_FALSE(flushes_denormals());
  EXPECT_GT(half_of_the_smallest_normal_number<float>(), 0.0F);
  EXPECT_GT(a_denormal_number_times_a_large_one<double>(), 0.0);
}

TEST_F(FlushDenormals, OnResultsAndInputsAreTakenForZero) {
  const FlushDenormalsGuard guard;
  EXPECT_TRUE(flushes_denormals());
  EXPECT_EQ(half_of_the_smallest_normal_number<float>(), 0.0F);
  EXPECT_EQ(half_of_the_smallest_normal_number<double>(), 0.0);
  EXPECT_EQ(a_denormal_number_times_a_large_one<float>(), 0.0F);
  EXPECT_EQ(a_denormal_number_times_a_large_one<double>(), 0.0);
}

TEST_F(FlushDenormals, NormalNumbersAreComputedAsBefore) {
  volatile float third = 1.0F;
  volatile double tenth = 1.0;
  const float third_before = third / 3;
  const double tenth_before = tenth / 10;
  const FlushDenormalsGuard guard;
  EXPECT_EQ(third / 3, third_before);
  EXPECT_EQ(tenth / 10, tenth_before);
}

TEST_F(FlushDenormals, TheGuardGivesTheFormerModeBack) {
  const bool before = flushes_denormals();
  for (const bool outer : {true, false}) {
    const FlushDenormalsGuard outer_guard(outer);
    {
      const FlushDenormalsGuard inner_guard(!outer);
      EXPECT_EQ(flushes_denormals(), !outer);
    }
    EXPECT_EQ(flushes_denormals(), outer);
  }
  EXPECT_EQ(flushes_denormals(), before);
}

TEST_F(FlushDenormals, ANewThreadInheritsTheMode) {
  for (const bool flush : {true, false}) {
    const FlushDenormalsGuard guard(flush);
    bool inherited = !flush;
    std::thread([&] { inherited = flushes_denormals(); }).join();
    EXPECT_EQ(inherited, flush);
  }
}

}  // namespace
}  // namespace primal::kernels
