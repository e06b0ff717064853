#include "kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/cpu_targets.h"
#include "support/expected.h"

namespace primal::kernels {
namespace {

using tests::Expected;
using tests::kRounding;
using tests::on_every_cpu_target;

constexpr float kUntouched = -77;  // what stands where a kernel must not write
constexpr int64_t kMargin = 20;    // elements before and after, more than the widest vector

/// The arrays of one call: random numbers between margins, beginning misaligned.
struct Call {
  Call(NormShape call_shape, float mean, float deviation) : shape(call_shape) {
    const int64_t all = shape.rows * shape.width;
    x = numbers(all, mean, deviation, 1);
    gradient = numbers(all, 0, 1, 2);
    out = numbers(all, 0, 1, 3);
    weight = numbers(shape.width, 1, 0.5F, 4);
    bias = numbers(shape.width, 0, 1, 5);
    weight_gradient = numbers(shape.width, 0, 1, 6);
    bias_gradient = numbers(shape.width, 0, 1, 7);
  }

  static std::vector<float> numbers(int64_t count, float mean, float deviation, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> result(static_cast<size_t>(count + 2 * kMargin), kUntouched);
    for (int64_t i = 0; i < count; ++i)
      result[static_cast<size_t>(kMargin + 1 + i)] = mean + deviation * normal(random);
    return result;
  }
  static float* begin(std::vector<float>& array) { return array.data() + kMargin + 1; }
  static size_t channel(int64_t c) { return static_cast<size_t>(kMargin + 1 + c); }
  size_t at(int64_t i, int64_t c) const { return channel(i * shape.width + c); }

  void forward() { layer_norm(begin(x), shape, begin(weight), begin(bias), begin(out)); }
  void backward(bool add, std::vector<float>& x_gradient) {
    layer_norm_backward(begin(x), shape, begin(weight), begin(gradient), add, begin(x_gradient), begin(weight_gradient),
                        begin(bias_gradient));
  }

  NormShape shape;
  std::vector<float> x, gradient, out, weight, bias, weight_gradient, bias_gradient;
};

/// A row of x, normed in double. In float32 the mean is rounded, and so is its product with the inverse deviation:
/// no element is better known than `error`.
struct Row {
  Row(const Call& call, int64_t i) {
    const auto width = static_cast<double>(call.shape.width);
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < call.shape.width; ++c) mean += call.x[call.at(i, c)] / width;
    for (int64_t c = 0; c < call.shape.width; ++c) variance += std::pow(call.x[call.at(i, c)] - mean, 2) / width;
    inverse_deviation = 1 / std::sqrt(variance + static_cast<double>(call.shape.epsilon));
    for (int64_t c = 0; c < call.shape.width; ++c) {
      normed.push_back((call.x[call.at(i, c)] - mean) * inverse_deviation);
    }
    error = 2 * kRounding * (2 + (std::abs(mean) + std::sqrt(variance)) * inverse_deviation);
  }
  double operator[](int64_t c) const { return normed[static_cast<size_t>(c)]; }

  std::vector<double> normed;
  double inverse_deviation = 0, error = 0;
};

Expected expected_forward(const Call& call) {
  Expected out(call.out);
  for (int64_t i = 0; i < call.shape.rows; ++i) {
    const Row row(call, i);
    for (int64_t c = 0; c < call.shape.width; ++c) {
      const double weight = call.weight[Call::channel(c)], bias = call.bias[Call::channel(c)];
      out.set(call.at(i, c), row[c] * weight + bias, (1 + std::abs(row[c])) * row.error * std::abs(weight));
    }
  }
  return out;
}

struct ExpectedGradients {
  Expected x, weight, bias;
};

ExpectedGradients expected_backward(const Call& call, bool add, const std::vector<float>& x_gradient) {
  ExpectedGradients result{Expected(x_gradient), Expected(call.weight_gradient), Expected(call.bias_gradient)};
  for (int64_t i = 0; i < call.shape.rows; ++i) {
    const Row row(call, i);
    double mean = 0, along = 0, size = 0;
    const auto width = static_cast<double>(call.shape.width);
    const auto weighted = [&](int64_t c) {
      return static_cast<double>(call.gradient[call.at(i, c)]) * static_cast<double>(call.weight[Call::channel(c)]);
    };
    for (int64_t c = 0; c < call.shape.width; ++c) {
      mean += weighted(c) / width;
      along += weighted(c) * row[c] / width;
      size += std::abs(weighted(c)) * (1 + std::abs(row[c])) / width;
    }
    for (int64_t c = 0; c < call.shape.width; ++c) {
      const double g = call.gradient[call.at(i, c)];
      const double value = row.inverse_deviation * (weighted(c) - mean - row[c] * along);
      const double error = row.inverse_deviation * row.error * (size + std::abs(weighted(c))) * (2 + std::abs(row[c]));
      if (add) {
        result.x.add(call.at(i, c), value, error);
      } else {
        result.x.set(call.at(i, c), value, error);
      }
      result.weight.add(Call::channel(c), g * row[c], std::abs(g) * row.error * (1 + std::abs(row[c])));
      result.bias.add(Call::channel(c), g, 0);
    }
  }
  return result;
}

/// Every width up to more than four of the widest vectors, and some usual ones.
template <typename Body>
void for_each_shape(const Body& body) {
  on_every_cpu_target([&] {
    for (int64_t width = 1; width <= 600; width += width < 70 ? 1 : 221) {
      for (const int64_t rows : {0, 1, 4}) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
        body(NormShape{rows, width, 1e-5F});
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(LayerNorm, IsTheFormulaAndTouchesNothingElse) {
  for_each_shape([](NormShape shape) {
    Call call(shape, 0.3F, 2);
    const Expected expected = expected_forward(call);
    call.forward();
    expected.expect_equal(call.out);
  });
}

TEST(LayerNorm, MayReplaceItsInput) {
  for_each_shape([](NormShape shape) {
    Call call(shape, 0.3F, 2), in_place = call;
    call.forward();
    layer_norm(Call::begin(in_place.x), shape, Call::begin(call.weight), Call::begin(call.bias),
               Call::begin(in_place.x));
    for (int64_t i = 0; i < shape.rows * shape.width; ++i) {
      ASSERT_EQ(in_place.x[Call::channel(i)], call.out[Call::channel(i)]) << "element " << i;
    }
  });
}

// A variance from the mean of the squares would have no digit left here.
TEST(LayerNorm, KeepsTheDigitsOfADeviationFarFromZero) {
  for_each_shape([](NormShape shape) {
    if (shape.width < 8) return;
    Call call(shape, 1e4F, 1);
    call.forward();
    for (int64_t i = 0; i < shape.rows; ++i) {
      const Row row(call, i);
      for (int64_t c = 0; c < shape.width; ++c) {
        const double actual = (call.out[call.at(i, c)] - call.bias[Call::channel(c)]) / call.weight[Call::channel(c)];
        ASSERT_NEAR(actual, row[c], 0.01) << "row " << i << ", channel " << c;
      }
    }
  });
}

TEST(LayerNorm, EpsilonBoundsWhatEqualNumbersBecome) {
  on_every_cpu_target([] {
    Call call({3, 37, 0.25F}, 2, 0);
    call.forward();
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t c = 0; c < 37; ++c) EXPECT_NEAR(call.out[call.at(i, c)], call.bias[Call::channel(c)], 1e-5);
    }
    Call spread({1, 2, 0.25F}, 0, 0);
    spread.x[call.at(0, 0)] = 0.5F, spread.x[call.at(0, 1)] = -0.5F;  // variance 0.25
    const Expected expected = expected_forward(spread);
    spread.forward();
    expected.expect_equal(spread.out);
  });
}

TEST(LayerNormBackward, IsTheGradientAndTouchesNothingElse) {
  for_each_shape([](NormShape shape) {
    for (const bool add : {false, true}) {
      SCOPED_TRACE(add ? "added" : "set");
      Call call(shape, 0.3F, 2);
      const ExpectedGradients expected = expected_backward(call, add, call.out);
      call.backward(add, call.out);
      expected.x.expect_equal(call.out);
      expected.weight.expect_equal(call.weight_gradient);
      expected.bias.expect_equal(call.bias_gradient);
    }
  });
}

TEST(LayerNormBackward, IsTheSlopeOfTheForwardPass) {
  on_every_cpu_target([] {
    Call call({1, 13, 1e-5F}, 0.3F, 2);
    const auto loss = [&] {
      call.forward();
      double sum = 0;
      for (int64_t c = 0; c < 13; ++c) sum += call.gradient[call.at(0, c)] * call.out[call.at(0, c)];
      return sum;
    };
    std::vector<float> x_gradient = call.out;
    call.backward(false, x_gradient);
    for (int64_t c = 0; c < 13; ++c) {
      float& x = call.x[call.at(0, c)];
      const float before = x, step = 1.0F / 64;
      x = before + step;
      const double above = loss();
      x = before - step;
      EXPECT_NEAR(x_gradient[call.at(0, c)], (above - loss()) / (2 * step), 2e-4) << "channel " << c;
      x = before;
    }
  });
}

TEST(LayerNormBackward, MayReplaceTheGradient) {
  for_each_shape([](NormShape shape) {
    for (const bool add : {false, true}) {
      Call call(shape, 0.3F, 2), in_place = call;
      call.out = call.gradient;
      call.backward(add, call.out);
      in_place.backward(add, in_place.gradient);
      ASSERT_EQ(in_place.gradient, call.out);
      ASSERT_EQ(in_place.weight_gradient, call.weight_gradient);
      ASSERT_EQ(in_place.bias_gradient, call.bias_gradient);
    }
  });
}

}  // namespace
}  // namespace primal::kernels
