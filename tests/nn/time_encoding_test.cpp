#include "nn/time_encoding.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

// Bochner: the product of the features of two instants depends on their difference alone.
TEST(TimeEncoding, IsAKernelOfTheDifference) {
  TimeEncoding encoding(TimeEncodingOptions{.width = 16});
  encoding->to(torch::kFloat64);
  torch::NoGradGuard no_grad;
  encoding->proj->bias.zero_();
  encoding->proj->weight.copy_(torch::eye(16, torch::kFloat64));
  const auto kernel = [&](double a, double b) {
    const torch::Tensor features = encoding(torch::tensor({{a, b}}, torch::kFloat64))[0];
    return features[0].dot(features[1]).item<double>();
  };
  EXPECT_NEAR(kernel(3, 3), 1, 1e-12);
  EXPECT_NEAR(kernel(0, 7.5), kernel(100, 107.5), 1e-12);
  EXPECT_NEAR(kernel(0, 7.5), kernel(7.5, 0), 1e-12);
  EXPECT_LT(kernel(0, 7.5), 0.99);
}

TEST(TimeEncoding, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  TimeEncoding encoding(TimeEncodingOptions{.width = 3, .frequencies = 2});
  encoding->to(torch::kFloat64);
  const torch::Tensor times = torch::tensor({{0.0, 1.5, 4.0}}, torch::kFloat64);
  const torch::Tensor direction = torch::randn({1, 3, 3}, torch::kFloat64);
  (encoding(times) * direction).sum().backward();
  const torch::Tensor start = encoding->frequencies.detach().clone();
  const torch::Tensor expected = tests::numeric_gradient(
      [&](const torch::Tensor& frequencies) {
        torch::NoGradGuard no_grad;
        encoding->frequencies.copy_(frequencies);
        return (encoding(times) * direction).sum().item<double>();
      },
      start);
  EXPECT_TRUE(tests::close(encoding->frequencies.grad(), expected, 1e-6));
}

TEST(TimeEncoding, RefusesSizesThatMakeNoSense) {
  EXPECT_EQ(tests::error_of([] { TimeEncoding(TimeEncodingOptions{.width = 0}); }),
            "time_encoding: width must be at least 1, got 0");
  EXPECT_EQ(tests::error_of([] { TimeEncoding(TimeEncodingOptions{.width = 4, .frequencies = -1}); }),
            "time_encoding: frequencies must not be negative, got -1");
}

}  // namespace
}  // namespace primal::nn
