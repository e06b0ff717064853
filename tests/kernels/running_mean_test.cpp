#include "kernels/running_mean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "support/cpu_targets.h"

namespace primal::kernels {
namespace {

using tests::on_every_cpu_target;

constexpr double kUntouched = -77;  // what stands where a kernel must not write

enum class Mask { none, holes, all };

/// The arrays of one call. They begin `offset` elements into their memory, so that no vector is aligned.
template <typename T>
struct Call {
  Call(RunningMeanShape call_shape, int64_t call_offset, Mask mask) : shape(call_shape), offset(call_offset) {
    std::mt19937 random(static_cast<unsigned>(shape.width * 131 + shape.tokens));
    std::normal_distribution<double> normal;
    const auto elements = static_cast<size_t>(offset + shape.tokens * shape.stride + 8);
    for (size_t i = 0; i < elements; ++i) in.push_back(static_cast<T>(normal(random)));
    out.assign(elements, static_cast<T>(kUntouched));
    sums.assign(static_cast<size_t>(offset + shape.width + 8), 0.0);
    mask_given = mask != Mask::none;
    padded = std::make_unique<bool[]>(static_cast<size_t>(shape.tokens + 1));
    for (int64_t t = 0; t < shape.tokens; ++t) {
      padded[static_cast<size_t>(t)] = mask == Mask::all || (mask == Mask::holes && (t == 0 || t % 3 == 2));
    }
  }

  bool counted(int64_t t) const { return !padded[static_cast<size_t>(t)]; }
  int64_t index(int64_t t, int64_t c) const { return offset + t * shape.stride + c; }
  T& x(int64_t t, int64_t c) { return in[static_cast<size_t>(index(t, c))]; }
  T y(int64_t t, int64_t c) const { return out[static_cast<size_t>(index(t, c))]; }
  double* sum() { return sums.data() + offset; }

  /// Tokens begin .. begin + tokens - 1, after those before.
  void forward(int64_t begin, int64_t tokens) {
    const bool* mask = mask_given ? padded.get() + begin : nullptr;
    running_mean(in.data() + index(begin, 0), mask, {tokens, shape.width, shape.stride}, sum(), count,
                 out.data() + index(begin, 0));
  }
  void forward() { forward(0, shape.tokens); }
  void backward() {
    running_mean_backward(in.data() + offset, mask_given ? padded.get() : nullptr, shape, sum(), out.data() + offset);
  }

  /// Every element of the output that belongs to no row.
  void expect_gaps_untouched() const {
    for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
      const int64_t t = (i - offset) / shape.stride, c = (i - offset) % shape.stride;
      if (i >= offset && t < shape.tokens && c < shape.width) continue;
      ASSERT_EQ(out[static_cast<size_t>(i)], static_cast<T>(kUntouched)) << "element " << i;
    }
  }

  RunningMeanShape shape;
  int64_t offset;
  std::vector<T> in, out;
  std::vector<double> sums;
  std::unique_ptr<bool[]> padded;  // std::vector<bool> has no bool*
  bool mask_given = false;
  int64_t count = 0;
};

/// Every width up to more than four of the widest vectors, with gaps between the rows and uneven beginnings.
template <typename T, typename Body>
void for_each_shape(const Body& body) {
  for (const Mask mask : {Mask::none, Mask::holes, Mask::all}) {
    for (int64_t width = 1; width <= 70; ++width) {
      for (const int64_t tokens : {0, 1, 7}) {
        SCOPED_TRACE(testing::Message() << "width " << width << ", tokens " << tokens << ", mask "
                                        << static_cast<int>(mask));
        Call<T> call({tokens, width, width + width % 4}, width % 3, mask);
        body(call);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <typename T>
class RunningMeanKernel : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RunningMeanKernel, Types);

// The kernel promises this order of additions, in double: hence the same bits.
TYPED_TEST(RunningMeanKernel, IsTheMeanOfTheTokensSoFar) {
  on_every_cpu_target([] {
    for_each_shape<TypeParam>([](Call<TypeParam>& call) {
      call.forward();
      int64_t count = 0;
      std::vector<double> sum(static_cast<size_t>(call.shape.width), 0.0);
      for (int64_t t = 0; t < call.shape.tokens; ++t) {
        count += call.counted(t) ? 1 : 0;
        for (int64_t c = 0; c < call.shape.width; ++c) {
          double& s = sum[static_cast<size_t>(c)];
          if (call.counted(t)) s += static_cast<double>(call.x(t, c));
          const double divisor = count > 0 ? static_cast<double>(count) : 1.0;
          ASSERT_EQ(call.y(t, c), static_cast<TypeParam>(s / divisor)) << "token " << t << ", channel " << c;
        }
      }
      EXPECT_EQ(call.count, count);
      EXPECT_EQ(std::vector<double>(call.sum(), call.sum() + call.shape.width), sum);
      call.expect_gaps_untouched();
    });
  });
}

TYPED_TEST(RunningMeanKernel, BackwardIsTheSumOverLaterMeans) {
  const double tolerance = 4 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  on_every_cpu_target([&] {
    for_each_shape<TypeParam>([&](Call<TypeParam>& call) {
      std::fill(call.sums.begin(), call.sums.end(), 5.0);  // work space comes with anything in it
      call.backward();
      std::vector<int64_t> counts;
      for (int64_t t = 0; t < call.shape.tokens; ++t) {
        counts.push_back((t > 0 ? counts.back() : 0) + (call.counted(t) ? 1 : 0));
      }
      for (int64_t t = 0; t < call.shape.tokens; ++t) {
        for (int64_t c = 0; c < call.shape.width; ++c) {
          double expected = 0;
          for (int64_t u = t; u < call.shape.tokens && call.counted(t); ++u) {
            expected += static_cast<double>(call.x(u, c)) / static_cast<double>(counts[static_cast<size_t>(u)]);
          }
          ASSERT_NEAR(call.y(t, c), expected, tolerance * (1 + std::abs(expected)))
              << "token " << t << ", channel " << c;
        }
      }
      call.expect_gaps_untouched();
    });
  });
}

TYPED_TEST(RunningMeanKernel, EveryCpuTargetGivesTheSameBits) {
  std::vector<std::vector<TypeParam>> results;
  on_every_cpu_target([&] {
    std::vector<TypeParam> all;
    for_each_shape<TypeParam>([&](Call<TypeParam>& call) {
      call.forward();
      all.insert(all.end(), call.out.begin(), call.out.end());
      call.backward();
      all.insert(all.end(), call.out.begin(), call.out.end());
    });
    results.push_back(all);
  });
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TYPED_TEST(RunningMeanKernel, StateContinuedInChunksEqualsOneGo) {
  on_every_cpu_target([] {
    for (const Mask mask : {Mask::none, Mask::holes}) {
      Call<TypeParam> whole({23, 37, 41}, 1, mask), chunked({23, 37, 41}, 1, mask);
      whole.forward();
      int64_t begin = 0;
      for (const int64_t tokens : {1, 0, 5, 2, 15}) {
        chunked.forward(begin, tokens);
        begin += tokens;
      }
      ASSERT_EQ(begin, 23);
      EXPECT_EQ(chunked.out, whole.out);
      EXPECT_EQ(chunked.sums, whole.sums);
      EXPECT_EQ(chunked.count, whole.count);
    }
  });
}

TYPED_TEST(RunningMeanKernel, NoTokenLeavesTheStateAlone) {
  on_every_cpu_target([] {
    Call<TypeParam> call({0, 5, 5}, 0, Mask::none);
    std::fill(call.sums.begin(), call.sums.end(), 3.0);
    call.count = 4;
    call.forward();
    EXPECT_EQ(call.count, 4);
    EXPECT_EQ(call.sums, std::vector<double>(call.sums.size(), 3.0));
    call.expect_gaps_untouched();
  });
}

TYPED_TEST(RunningMeanKernel, WhatStandsInPaddedTokensNeverMatters) {
  on_every_cpu_target([] {
    Call<TypeParam> clean({9, 19, 20}, 1, Mask::holes), dirty({9, 19, 20}, 1, Mask::holes);
    for (int64_t t = 0; t < 9; ++t) {
      for (int64_t c = 0; c < 19 && !dirty.counted(t); ++c) dirty.x(t, c) = std::nan("");
    }
    clean.forward();
    dirty.forward();
    EXPECT_EQ(dirty.out, clean.out);
  });
}

TYPED_TEST(RunningMeanKernel, AMeanOfManyEqualTokensDoesNotDrift) {
  on_every_cpu_target([] {
    Call<TypeParam> call({100000, 3, 3}, 0, Mask::none);
    const auto value = static_cast<TypeParam>(0.1);
    std::fill(call.in.begin(), call.in.end(), value);
    call.forward();
    const double tolerance = sizeof(TypeParam) == 4 ? 0 : 1e-12;  // a float sum would be off by 1e-4
    for (int64_t c = 0; c < 3; ++c) EXPECT_NEAR(call.y(99999, c), value, tolerance);
  });
}

}  // namespace
}  // namespace primal::kernels
