#include "ops/running_mean.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <optional>
#include <vector>

#include "support/tensors.h"

namespace primal::ops {
namespace {

using at::Tensor;
using tests::close;
using tests::inner_product;
using tests::same;

RunningState zero_state(int64_t batch, int64_t width) {
  return {torch::zeros({batch, width}, at::kDouble), torch::zeros({batch}, at::kLong)};
}

RunningState some_state(int64_t batch, int64_t width) {
  return {torch::randn({batch, width}, at::kDouble), torch::arange(batch)};
}

RunningState copy(const RunningState& state) { return {state.sum.clone(), state.count.clone()}; }

struct Case {
  Tensor x;
  std::optional<Tensor> padded;
  double tolerance;
};

// Widths around the 256 channels of a unit of parallel work; lengths 0 and 1; with and without holes.
std::vector<Case> cases() {
  torch::manual_seed(3);
  std::vector<Case> result;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const int64_t width : {1, 7, 256, 257, 600}) {
      for (const int64_t tokens : {0, 1, 33}) {
        const Tensor x = torch::randn({3, tokens, width}, dtype);
        const double tolerance = dtype == at::kFloat ? 1e-6 : 1e-13;
        result.push_back({x, std::nullopt, tolerance});
        result.push_back({x, torch::rand({3, tokens}) < 0.4, tolerance});
        result.push_back({x, torch::ones({3, tokens}, at::kBool), tolerance});
      }
    }
  }
  return result;
}

TEST(RunningMean, KernelAndAtenAgree) {
  for (const auto& [x, padded, tolerance] : cases()) {
    SCOPED_TRACE(testing::Message() << x.sizes() << " " << x.scalar_type());
    RunningState in_kernel = some_state(x.size(0), x.size(2)), in_aten = copy(in_kernel);
    const Tensor mean = running_mean(x, padded, &in_kernel);
    ASSERT_EQ(mean.scalar_type(), x.scalar_type());
    ASSERT_TRUE(close(mean, running_mean_in_aten(x, padded, in_aten), tolerance));
    ASSERT_TRUE(close(in_kernel.sum, in_aten.sum, 1e-13));
    ASSERT_TRUE(same(in_kernel.count, in_aten.count));
  }
}

TEST(RunningMean, BackwardOfKernelAndAtenAgree) {
  for (const auto& [grad, padded, tolerance] : cases()) {
    SCOPED_TRACE(testing::Message() << grad.sizes() << " " << grad.scalar_type());
    const Tensor result = running_mean_backward(grad, padded);
    ASSERT_EQ(result.scalar_type(), grad.scalar_type());
    ASSERT_TRUE(close(result, running_mean_backward_in_aten(grad, padded), tolerance));
  }
}

TEST(RunningMean, BackwardIsTheAdjoint) {
  const Tensor x = torch::randn({2, 11, 300}, at::kDouble), grad = torch::randn_like(x);
  for (const std::optional<Tensor>& padded : {std::optional<Tensor>(), std::optional(torch::rand({2, 11}) < 0.4)}) {
    EXPECT_NEAR(inner_product(running_mean(x, padded), grad), inner_product(x, running_mean_backward(grad, padded)),
                1e-10);
  }
}

TEST(RunningMean, BeginsWithNothingWhenNoStateIsGiven) {
  const Tensor x = torch::randn({2, 5, 9});
  RunningState zero = zero_state(2, 9);
  EXPECT_TRUE(same(running_mean(x, std::nullopt), running_mean(x, std::nullopt, &zero)));
  EXPECT_TRUE(close(running_mean(x, std::nullopt).select(1, -1), x.mean(1), 1e-6));
}

TEST(RunningMean, StateCarriesOneChunkToTheNext) {
  const Tensor x = torch::randn({2, 20, 300}), padded = torch::rand({2, 20}) < 0.3;
  RunningState whole = some_state(2, 300), chunked = copy(whole);
  const Tensor at_once = running_mean(x, padded, &whole);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t tokens : {1, 0, 7, 12}) {
    parts.push_back(running_mean(x.narrow(1, begin, tokens), padded.narrow(1, begin, tokens), &chunked));
    begin += tokens;
  }
  EXPECT_TRUE(same(torch::cat(parts, 1), at_once));
  EXPECT_TRUE(same(chunked.sum, whole.sum));
  EXPECT_TRUE(same(chunked.count, whole.count));
}

TEST(RunningMean, StateCountsOnlyTokensThatAreNotPadded) {
  const Tensor x = torch::ones({2, 3, 4}), padded = torch::tensor({{0, 1, 0}, {1, 1, 1}}).to(at::kBool);
  RunningState state = zero_state(2, 4);
  const Tensor mean = running_mean(x, padded, &state);
  EXPECT_TRUE(same(state.count, torch::tensor({2, 0}, at::kLong)));
  EXPECT_TRUE(same(state.sum, torch::tensor({{2., 2., 2., 2.}, {0., 0., 0., 0.}}, at::kDouble)));
  EXPECT_TRUE(same(mean[1], torch::zeros({3, 4})));
}

TEST(RunningMean, AnyLayoutOfTheInputWillDo) {
  const Tensor x = torch::randn({5, 8, 3}).transpose(0, 2), padded = (torch::rand({8, 3}) < 0.4).t();
  ASSERT_FALSE(x.is_contiguous() || padded.is_contiguous());
  EXPECT_TRUE(same(running_mean(x, padded), running_mean(x.contiguous(), padded.contiguous())));
  EXPECT_TRUE(same(running_mean_backward(x, padded), running_mean_backward(x.contiguous(), padded.contiguous())));
}

TEST(RunningMean, NumberOfThreadsDoesNotMatter) {
  const Tensor x = torch::randn({3, 40, 700});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Tensor mean = running_mean(x, std::nullopt), back = running_mean_backward(x, std::nullopt);
  at::set_num_threads(4);
  EXPECT_TRUE(same(running_mean(x, std::nullopt), mean));
  EXPECT_TRUE(same(running_mean_backward(x, std::nullopt), back));
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace primal::ops
