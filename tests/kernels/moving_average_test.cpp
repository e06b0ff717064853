#include "kernels/moving_average.h"

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

template <typename T>
size_t at(T index) {
  return static_cast<size_t>(index);
}

/// An array that begins an odd number of elements into its memory, so that no vector is aligned, and ends before it.
template <typename T>
class Array {
 public:
  Array(int64_t size, double value, int64_t offset = 3)
      : memory_(at(size + offset + 8), static_cast<T>(kUntouched)), size_(size), offset_(offset) {
    std::fill_n(data(), size, static_cast<T>(value));
  }
  static Array random(int64_t size, std::mt19937& generator, double low, double high) {
    Array result(size, 0);
    std::uniform_real_distribution<double> uniform(low, high);
    for (int64_t i = 0; i < size; ++i) result.data()[i] = static_cast<T>(uniform(generator));
    return result;
  }

  T* data() { return memory_.data() + offset_; }
  double operator[](int64_t i) const { return static_cast<double>(memory_[at(offset_ + i)]); }
  bool untouched_around() const {
    const auto is_untouched = [](T value) { return value == static_cast<T>(kUntouched); };
    return std::all_of(memory_.begin(), memory_.begin() + offset_, is_untouched) &&
           std::all_of(memory_.begin() + offset_ + size_, memory_.end(), is_untouched);
  }
  const std::vector<T>& memory() const { return memory_; }

 private:
  std::vector<T> memory_;
  int64_t size_, offset_;
};

enum class Order { in_a_row, with_gaps, reversed };

struct Case {
  int64_t width, scales, rows;
  Order order;
  bool skip, add, from_zero;
};

/// The arrays of one call of any of the functions. Numbers of a scale lie `stride` apart, more than the width.
template <typename T>
struct AverageCall {
  explicit AverageCall(const Case& c)
      : AverageCall(c, std::mt19937(static_cast<unsigned>(c.width * 1009 + c.scales * 31 + c.rows))) {}

  AverageCall(const Case& c, std::mt19937 random)
      : given(c),
        stride(c.width + 2),
        row_stride(c.width + 3),
        tokens(c.order == Order::with_gaps ? 2 * c.rows + 1 : c.rows),
        x(Array<T>::random(tokens * row_stride, random, -1, 1)),
        y_gradient(Array<T>::random(tokens * row_stride, random, -1, 1)),
        decay(Array<T>::random(c.scales * stride, random, 0, 1)),
        weight(Array<T>::random(c.scales * stride, random, -1, 1)),
        skip(Array<T>::random(c.width, random, -1, 1)),
        sums(Array<T>::random(c.scales * stride, random, -1, 1)),
        from_zero(c.scales * stride, 0),
        after(Array<T>::random(c.scales * stride, random, -1, 1)),
        y(tokens * row_stride, kUntouched),
        decay_gradient(Array<T>::random(c.scales * stride, random, -1, 1)),
        weight_gradient(Array<T>::random(c.scales * stride, random, -1, 1)),
        skip_gradient(Array<T>::random(c.width, random, -1, 1)) {
    for (int64_t i = 0; i < c.rows; ++i) {
      const int64_t token = c.order == Order::with_gaps ? 2 * i + 1 : c.order == Order::reversed ? c.rows - 1 - i : i;
      offsets.push_back(token * row_stride);
    }
    if (c.add) {
      for (const int64_t offset : offsets) {
        for (int64_t channel = 0; channel < c.width; ++channel) y.data()[offset + channel] = static_cast<T>(0.25);
      }
    }
  }

  ScanRows rows() const { return {offsets.data(), given.rows, given.width}; }
  Scales<T> scales() { return {given.scales, stride, decay.data(), weight.data()}; }
  T* skip_or_null() { return given.skip ? skip.data() : nullptr; }

  void forward() {
    moving_average(x.data(), rows(), scales(), skip_or_null(), given.add ? AverageOutput::add : AverageOutput::begin,
                   sums.data(), given.from_zero ? from_zero.data() : nullptr, y.data());
  }
  void backward() {
    Array<T> space(moving_average_backward_space(rows()), 5.0);  // it comes with anything in it
    moving_average_backward(x.data(), y_gradient.data(), rows(), scales(), skip_or_null(), given.add, sums.data(),
                            after.data(), y.data(), {decay_gradient.data(), weight_gradient.data(), gradient_of_skip()},
                            space.data());
    EXPECT_TRUE(space.untouched_around());
  }
  T* gradient_of_skip() { return given.skip ? skip_gradient.data() : nullptr; }

  /// Everything around the rows and between the numbers of the scales.
  void expect_gaps_untouched(const AverageCall& before) const {
    for (const Array<T>* array : {&x, &y_gradient, &decay, &weight, &skip, &sums, &from_zero, &after, &y,
                                  &decay_gradient, &weight_gradient, &skip_gradient}) {
      EXPECT_TRUE(array->untouched_around());
    }
    EXPECT_EQ(x.memory(), before.x.memory());
    EXPECT_EQ(decay.memory(), before.decay.memory());
    EXPECT_EQ(weight.memory(), before.weight.memory());
    for (int64_t i = 0; i < tokens * row_stride; ++i) {
      const bool in_a_row = std::any_of(offsets.begin(), offsets.end(),
                                        [&](int64_t offset) { return i >= offset && i < offset + given.width; });
      if (in_a_row) continue;
      ASSERT_EQ(y[i], kUntouched) << "element " << i;
    }
    for (int64_t i = 0; i < given.scales * stride; ++i) {
      if (i % stride < given.width) continue;
      ASSERT_EQ(sums[i], before.sums[i]);
      ASSERT_EQ(from_zero[i], before.from_zero[i]);
      ASSERT_EQ(decay_gradient[i], before.decay_gradient[i]);
      ASSERT_EQ(weight_gradient[i], before.weight_gradient[i]);
    }
  }

  Case given;
  int64_t stride, row_stride, tokens;
  std::vector<int64_t> offsets;
  Array<T> x, y_gradient, decay, weight, skip, sums, from_zero, after, y;
  Array<T> decay_gradient, weight_gradient, skip_gradient;
};

/// Every width up to more than two of the widest vectors of float, every number of scales up to more than one group.
template <typename Body>
void for_each_case(const Body& body) {
  for (int64_t scales = 0; scales <= 6; ++scales) {
    for (const int64_t width : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 39}) {
      for (const int64_t rows : {0, 1, 7, 8, 9, 63, 64}) {
        const int64_t odd = width + scales + rows;
        const Case c{width, scales, rows, static_cast<Order>(odd % 3), odd % 2 == 0, odd % 5 == 0, odd % 7 < 4};
        SCOPED_TRACE(testing::Message() << "width " << width << ", scales " << scales << ", rows " << rows << ", order "
                                        << odd % 3 << ", skip " << c.skip << ", add " << c.add);
        body(c);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <typename T>
double tolerance() {
  return 500 * static_cast<double>(std::numeric_limits<T>::epsilon());  // of sums of up to 64 numbers
}

#define EXPECT_CLOSE(actual, expected) \
  ASSERT_NEAR(actual, expected, tolerance<TypeParam>() * (1 + std::abs(expected))) << "channel " << c

template <typename T>
class MovingAverageKernel : public testing::Test {};
using AverageTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(MovingAverageKernel, AverageTypes);

TYPED_TEST(MovingAverageKernel, FadingSumsAreTheRecurrence) {
  on_every_cpu_target([] {
    for_each_case([](const Case& given) {
      AverageCall<TypeParam> call(given);
      const AverageCall<TypeParam> before(given);
      Scales<TypeParam> scales = call.scales();
      scales.weight = nullptr;  // not needed
      fading_sums(call.x.data(), call.rows(), scales, call.sums.data());
      for (int64_t i = 0; i < given.scales; ++i) {
        for (int64_t c = 0; c < given.width; ++c) {
          double m = before.sums[i * call.stride + c];
          for (const int64_t row : call.offsets) m = before.decay[i * call.stride + c] * m + before.x[row + c];
          EXPECT_CLOSE(call.sums[i * call.stride + c], m);
        }
      }
      call.expect_gaps_untouched(before);
    });
  });
}

TYPED_TEST(MovingAverageKernel, AveragesAreTheFormula) {
  on_every_cpu_target([] {
    for_each_case([](const Case& given) {
      AverageCall<TypeParam> call(given);
      const AverageCall<TypeParam> before(given);
      call.forward();
      for (int64_t c = 0; c < given.width; ++c) {
        std::vector<double> m, own(at(given.scales), 0.0);
        for (int64_t i = 0; i < given.scales; ++i) m.push_back(before.sums[i * call.stride + c]);
        for (const int64_t row : call.offsets) {
          double y = given.add ? 0.25 : given.skip ? before.skip[c] * before.x[row + c] : 0.0;
          for (int64_t i = 0; i < given.scales; ++i) {
            const int64_t number = i * call.stride + c;
            m[at(i)] = before.decay[number] * m[at(i)] + before.x[row + c];
            own[at(i)] = before.decay[number] * own[at(i)] + before.x[row + c];
            y += before.weight[number] * m[at(i)];
          }
          EXPECT_CLOSE(call.y[row + c], y);
        }
        for (int64_t i = 0; i < given.scales; ++i) {
          EXPECT_CLOSE(call.sums[i * call.stride + c], m[at(i)]);
          EXPECT_CLOSE(call.from_zero[i * call.stride + c], given.from_zero ? own[at(i)] : 0.0);
        }
      }
      call.expect_gaps_untouched(before);
    });
  });
}

// The chain rule by plain loops: the sums of every row are kept.
TYPED_TEST(MovingAverageKernel, BackwardIsTheChainRule) {
  on_every_cpu_target([] {
    for_each_case([](const Case& given) {
      AverageCall<TypeParam> call(given);
      const AverageCall<TypeParam> before(given);
      call.backward();
      const bool skips = given.skip && !given.add;
      for (int64_t c = 0; c < given.width; ++c) {
        std::vector<double> x_gradient(at(given.rows));
        double skip_sum = before.skip_gradient[c];
        for (int64_t t = 0; t < given.rows; ++t) {
          const int64_t row = call.offsets[at(t)];
          x_gradient[at(t)] = given.add ? 0.25 : skips ? before.skip[c] * before.y_gradient[row + c] : 0.0;
          if (skips) skip_sum += before.y_gradient[row + c] * before.x[row + c];
        }
        for (int64_t i = 0; i < given.scales; ++i) {
          const int64_t number = i * call.stride + c;
          const double a = before.decay[number], w = before.weight[number];
          std::vector<double> m{before.sums[number]};
          for (const int64_t row : call.offsets) m.push_back(a * m.back() + before.x[row + c]);
          double q = before.after[number];
          double decay_sum = before.decay_gradient[number], weight_sum = before.weight_gradient[number];
          for (int64_t t = given.rows - 1; t >= 0; --t) {
            const double g = before.y_gradient[call.offsets[at(t)] + c];
            q = a * q + g;
            x_gradient[at(t)] += w * q;
            weight_sum += g * m[at(t + 1)];
            decay_sum += q * m[at(t)];
          }
          EXPECT_CLOSE(call.decay_gradient[number], decay_sum);
          EXPECT_CLOSE(call.weight_gradient[number], weight_sum);
        }
        for (int64_t t = 0; t < given.rows; ++t) EXPECT_CLOSE(call.y[call.offsets[at(t)] + c], x_gradient[at(t)]);
        EXPECT_CLOSE(call.skip_gradient[c], given.skip ? skip_sum : before.skip_gradient[c]);
      }
      call.expect_gaps_untouched(before);
      EXPECT_EQ(call.sums.memory(), before.sums.memory());
      EXPECT_EQ(call.after.memory(), before.after.memory());
    });
  });
}

TYPED_TEST(MovingAverageKernel, EveryCpuTargetGivesTheSameWithinRounding) {
  std::vector<std::vector<TypeParam>> results;
  on_every_cpu_target([&] {
    std::vector<TypeParam> all;
    for_each_case([&](const Case& given) {
      AverageCall<TypeParam> forward(given), backward(given);
      forward.forward();
      backward.backward();
      for (const auto* array : {&forward.y, &forward.sums, &backward.y, &backward.decay_gradient,
                                &backward.weight_gradient, &backward.skip_gradient}) {
        all.insert(all.end(), array->memory().begin(), array->memory().end());
      }
    });
    results.push_back(all);
  });
  for (const auto& result : results) {
    ASSERT_EQ(result.size(), results.front().size());
    for (size_t i = 0; i < result.size(); ++i) {
      const auto expected = static_cast<double>(results.front()[i]);
      ASSERT_NEAR(result[i], expected, tolerance<TypeParam>() * (1 + std::abs(expected)));
    }
  }
}

// The caller carries `from_zero` on instead of a second pass over the rows: it must be the very same numbers.
TYPED_TEST(MovingAverageKernel, SumsFromZeroHaveTheBitsOfFadingSums) {
  on_every_cpu_target([] {
    for_each_case([](Case given) {
      given.from_zero = true;
      AverageCall<TypeParam> call(given);
      Array<TypeParam> sums(given.scales * call.stride, 0);
      fading_sums(call.x.data(), call.rows(), call.scales(), sums.data());
      call.forward();
      for (int64_t i = 0; i < given.scales * call.stride; ++i) ASSERT_EQ(call.from_zero[i], sums[i]);
    });
  });
}

// Rows on 64-byte boundaries, as whoever asks for it promises.
TYPED_TEST(MovingAverageKernel, StreamedRowsHaveTheSameBits) {
  on_every_cpu_target([] {
    constexpr int64_t kWidth = 48, kRows = 20;
    for (const int64_t scales : {0, 1, 4, 6}) {
      AverageCall<TypeParam> call({kWidth, scales, kRows, Order::in_a_row, true, false, true});
      std::vector<TypeParam> x(kRows * kWidth), memory(kRows * kWidth + 64), plain(kRows * kWidth);
      std::vector<int64_t> offsets;
      for (int64_t t = 0; t < kRows; ++t) offsets.push_back(t * kWidth);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<TypeParam>(i % 19) - 9;
      void* begin = memory.data();
      size_t space = memory.size() * sizeof(TypeParam);
      auto* streamed = static_cast<TypeParam*>(std::align(64, x.size() * sizeof(TypeParam), begin, space));
      for (const auto& [output, y] :
           {std::pair{AverageOutput::begin, plain.data()}, {AverageOutput::stream, streamed}}) {
        std::vector<TypeParam> sums(at(scales * call.stride)), from_zero(at(scales * call.stride));
        moving_average(x.data(), ScanRows{offsets.data(), kRows, kWidth}, call.scales(), call.skip.data(), output,
                       sums.data(), from_zero.data(), y);
      }
      for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(streamed[i], plain[i]);
    }
  });
}

// What is in the rows that are left out is never read.
TYPED_TEST(MovingAverageKernel, RowsThatAreNotListedDoNotMatter) {
  on_every_cpu_target([] {
    const Case given{19, 5, 20, Order::with_gaps, true, false, true};
    AverageCall<TypeParam> clean(given), dirty(given);
    for (int64_t t = 0; t < dirty.tokens; t += 2) {
      std::fill_n(dirty.x.data() + t * dirty.row_stride, dirty.row_stride, std::nan(""));
      std::fill_n(dirty.y_gradient.data() + t * dirty.row_stride, dirty.row_stride, std::nan(""));
    }
    clean.forward();
    dirty.forward();
    EXPECT_EQ(dirty.y.memory(), clean.y.memory());
    EXPECT_EQ(dirty.sums.memory(), clean.sums.memory());
    clean.backward();
    dirty.backward();
    EXPECT_EQ(dirty.y.memory(), clean.y.memory());
    EXPECT_EQ(dirty.decay_gradient.memory(), clean.decay_gradient.memory());
  });
}

#undef EXPECT_CLOSE

}  // namespace
}  // namespace primal::kernels
