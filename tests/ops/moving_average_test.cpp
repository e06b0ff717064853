#include "ops/moving_average/moving_average.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/moving_average/in_aten.h"
#include "ops/moving_average/scan.h"
#include "support/errors.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal::ops {
namespace {

using at::Tensor;
using tests::close;
using tests::same;

struct AverageSizes {
  int64_t batch, tokens, width, directions, scales, groups;
};

enum class Padding { none, left, right, holes, all };

std::optional<Tensor> padding_of(Padding padding, int64_t batch, int64_t tokens) {
  const Tensor position = torch::arange(tokens).unsqueeze(0), count = 1 + torch::arange(batch).unsqueeze(1);
  switch (padding) {
    case Padding::none:
      return std::nullopt;
    case Padding::left:
      return position < count;
    case Padding::right:
      return position >= tokens - count;
    case Padding::holes:
      return torch::rand({batch, tokens}) < 0.4;
    default:
      return torch::ones({batch, tokens}, at::kBool);
  }
}

MovingAverageArguments arguments_of(const AverageSizes& n, Padding padding, bool skip, bool state,
                                    at::ScalarType dtype = at::kDouble) {
  MovingAverageArguments a{.x = torch::randn({n.batch, n.tokens, n.width}, dtype),
                           .log_scale = 1 + 1.5 * torch::randn({n.directions, n.scales, n.groups}, dtype),
                           .weight = torch::randn({n.directions, n.scales, n.width}, dtype),
                           .padding = padding_of(padding, n.batch, n.tokens)};
  if (skip) a.skip = torch::randn({n.width}, dtype);
  if (state && n.directions == 1) a.state = torch::randn({n.batch, n.scales, n.width}, at::kDouble);
  return a;
}

/// Widths around the 256 channels of a piece, tokens around the 64 of a chunk, 0 of everything.
template <typename Body>
void for_each_average(const Body& body) {
  torch::manual_seed(5);
  const std::vector<AverageSizes> all_sizes{{2, 0, 5, 1, 3, 5},    {3, 1, 7, 1, 2, 7},     {2, 64, 6, 1, 4, 3},
                                            {3, 65, 257, 1, 5, 1}, {1, 200, 12, 1, 1, 12}, {2, 9, 4, 1, 0, 2},
                                            {0, 7, 4, 1, 2, 4},    {2, 7, 0, 1, 2, 0}};
  for (AverageSizes sizes : all_sizes) {
    for (const int64_t directions : {1, 2}) {
      sizes.directions = directions;
      for (const auto padding : {Padding::none, Padding::left, Padding::right, Padding::holes, Padding::all}) {
        for (const bool with : {false, true}) {
          SCOPED_TRACE(testing::Message() << "[" << sizes.batch << ", " << sizes.tokens << ", " << sizes.width
                                          << "], directions " << directions << ", scales " << sizes.scales
                                          << ", padding " << static_cast<int>(padding) << ", state " << with);
          body(arguments_of(sizes, padding, /*skip=*/directions == 1 ? !with : with, /*state=*/with));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

Tensor state_gradient_of(const MovingAverageArguments& a) {
  return a.directions() == 1 ? torch::randn({a.batch(), a.scales(), a.width()}, at::kDouble) : Tensor();
}

testing::AssertionResult close_or_absent(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.defined() != expected.defined()) return testing::AssertionFailure() << "one of them is undefined";
  return actual.defined() ? close(actual, expected, tolerance) : testing::AssertionSuccess();
}

MovingAverageGradients with_state(MovingAverageGradients gradients, const MovingAverageArguments& a,
                                  const at::Tensor& state_gradient) {
  if (state_gradient.defined()) add_state_gradient(a, state_gradient, gradients);
  return gradients;
}

TEST(MovingAverage, KernelAndAtenAgree) {
  for_each_average([](const MovingAverageArguments& a) {
    const MovingAverage scanned = moving_average_on_cpu(a), in_aten = moving_average_in_aten(a);
    EXPECT_TRUE(close(scanned.out, in_aten.out, 1e-12));
    EXPECT_TRUE(close(scanned.state, in_aten.state, 1e-12));
    EXPECT_EQ(in_aten.state.scalar_type(), at::kDouble);
  });
}

TEST(MovingAverage, GradientsOfKernelAndAtenAgree) {
  for_each_average([](const MovingAverageArguments& a) {
    const Tensor out_gradient = torch::randn_like(a.x);
    for (const Tensor& state_gradient : {Tensor(), state_gradient_of(a)}) {
      const MovingAverageGradients scanned =
          with_state(moving_average_gradients_on_cpu(a, out_gradient), a, state_gradient);
      const MovingAverageGradients in_aten =
          with_state(moving_average_gradients_in_aten(a, out_gradient), a, state_gradient);
      EXPECT_TRUE(close(scanned.x, in_aten.x, 1e-11));
      EXPECT_TRUE(close(scanned.log_scale, in_aten.log_scale, 1e-10));
      EXPECT_TRUE(close(scanned.weight, in_aten.weight, 1e-11));
      EXPECT_TRUE(close_or_absent(scanned.skip, in_aten.skip, 1e-11));
      EXPECT_TRUE(close_or_absent(scanned.state, in_aten.state, 1e-11));
      EXPECT_EQ(scanned.state.defined(), a.state.has_value());
    }
  });
}

TEST(MovingAverage, FloatAndBfloat16InAtenAgreeWithTheKernel) {
  torch::manual_seed(6);
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t directions : {1, 2}) {
      const auto a = arguments_of({2, 130, 33, directions, 4, 11}, Padding::holes, true, true, dtype);
      const double tolerance = dtype == at::kFloat ? 1e-4 : 0.05;
      const MovingAverage scanned = moving_average_on_cpu(a), in_aten = moving_average_in_aten(a);
      EXPECT_EQ(in_aten.out.scalar_type(), dtype);
      EXPECT_TRUE(close(scanned.out.to(at::kDouble), in_aten.out.to(at::kDouble), tolerance));
      EXPECT_TRUE(close(scanned.state, in_aten.state, 1e-4));
      const Tensor gradient = torch::randn_like(a.x), state_gradient = state_gradient_of(a);
      const auto back = with_state(moving_average_gradients_on_cpu(a, gradient), a, state_gradient);
      const auto expected = with_state(moving_average_gradients_in_aten(a, gradient), a, state_gradient);
      for (const auto& [ours, other] : {std::pair(back.x, expected.x), std::pair(back.log_scale, expected.log_scale),
                                        std::pair(back.weight, expected.weight), std::pair(back.skip, expected.skip)}) {
        EXPECT_EQ(ours.scalar_type(), dtype);
        EXPECT_EQ(other.scalar_type(), dtype);
        EXPECT_TRUE(close(ours.to(at::kDouble), other.to(at::kDouble), tolerance));
      }
    }
  }
}

TEST(MovingAverage, TimeScalesWithoutEndInAtenAgreeWithTheKernel) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int64_t directions : {1, 2}) {
    for (const auto padding : {Padding::none, Padding::holes, Padding::all}) {
      auto a = arguments_of({2, 70, 5, directions, 3, 5}, padding, true, true);
      a.log_scale.select(1, 0).fill_(-kInfinity);
      a.log_scale.select(1, 1).fill_(kInfinity);
      EXPECT_TRUE(close(moving_average_on_cpu(a).out, moving_average_in_aten(a).out, 1e-12));
      const Tensor gradient = torch::randn_like(a.x), state_gradient = state_gradient_of(a);
      const auto back = with_state(moving_average_gradients_on_cpu(a, gradient), a, state_gradient);
      const auto expected = with_state(moving_average_gradients_in_aten(a, gradient), a, state_gradient);
      EXPECT_TRUE(close(back.x, expected.x, 1e-11));
      EXPECT_TRUE(close(back.log_scale, expected.log_scale, 1e-10));
      EXPECT_TRUE(close_or_absent(back.state, expected.state, 1e-11));
      EXPECT_EQ(back.log_scale.narrow(1, 0, 2).abs().max().item<double>(), 0);
    }
  }
}

// Few pieces are scanned chunk by chunk, many in one pass; which it is depends on the number of threads.
TEST(MovingAverage, NumberOfThreadsDoesNotMatter) {
  const tests::ThreadsGuard guard;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const int64_t batch : {1, 3, 8}) {
      for (const int64_t directions : {1, 2}) {
        const auto a = arguments_of({batch, 150, 300, directions, 5, 300}, Padding::holes, true, true, dtype);
        const Tensor gradient = torch::randn_like(a.x), state_gradient = state_gradient_of(a);
        at::set_num_threads(1);
        const MovingAverage expected = moving_average_on_cpu(a);
        const MovingAverageGradients expected_back =
            with_state(moving_average_gradients_on_cpu(a, gradient), a, state_gradient);
        for (const int threads : {2, 3, 4}) {
          SCOPED_TRACE(testing::Message() << dtype << ", batch " << batch << ", threads " << threads);
          at::set_num_threads(threads);
          const MovingAverage result = moving_average_on_cpu(a);
          EXPECT_TRUE(same(result.out, expected.out));
          EXPECT_TRUE(same(result.state, expected.state));
          const MovingAverageGradients back =
              with_state(moving_average_gradients_on_cpu(a, gradient), a, state_gradient);
          EXPECT_TRUE(same(back.x, expected_back.x));
          EXPECT_TRUE(same(back.log_scale, expected_back.log_scale));
          EXPECT_TRUE(same(back.weight, expected_back.weight));
          EXPECT_TRUE(same(back.skip, expected_back.skip));
          EXPECT_TRUE(!a.state || same(back.state, expected_back.state));
        }
      }
    }
  }
}

TEST(MovingAverage, DispatcherGivesTheSame) {
  const auto a = arguments_of({2, 70, 9, 1, 3, 3}, Padding::left, true, true);
  const MovingAverage dispatched = moving_average(a), direct = moving_average_pass(a);
  EXPECT_TRUE(same(dispatched.out, direct.out));
  EXPECT_TRUE(same(dispatched.state, direct.state));
  Tensor x = a.x.clone().requires_grad_();
  auto with_gradient = a;
  with_gradient.x = x;
  const MovingAverage result = moving_average(with_gradient);
  const Tensor gradient = torch::randn_like(a.x);
  result.out.backward(gradient);
  EXPECT_TRUE(same(x.grad(), moving_average_gradients(a, gradient, Tensor()).x));
}

TEST(MovingAverage, WrongArgumentsAreErrorsWithBothValues) {
  auto a = arguments_of({2, 7, 6, 1, 3, 6}, Padding::none, true, false);
  a.weight = torch::zeros({1, 2, 6}, at::kDouble);
  EXPECT_TRUE(tests::contains(tests::error_of<c10::ValueError>([&] { moving_average(a); }),
                              "moving_average: weight must be [R, S, D] = [1, 3, 6], got [1, 2, 6]"));
  a.weight = torch::zeros({1, 3, 6}, at::kFloat);
  EXPECT_TRUE(tests::contains(tests::error_of<c10::TypeError>([&] { moving_average(a); }),
                              "moving_average: weight is Float but x is Double"));
}

}  // namespace
}  // namespace primal::ops
