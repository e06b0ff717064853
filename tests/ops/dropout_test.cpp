#include "ops/dropout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "kernels/dropout.h"
#include "support/cpu_targets.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal {
namespace {

TEST(Dropout, DropsTheShareThatIsAskedForAndKeepsTheMean) {
  torch::manual_seed(1);
  const torch::Tensor x = torch::ones({1000, 1000});
  for (const double p : {0.1, 0.5, 0.9}) {
    const torch::Tensor y = ops::dropout(x, p, true);
    const double dropped = y.eq(0).to(torch::kFloat64).mean().item<double>();
    EXPECT_NEAR(dropped, p, 5 * std::sqrt(p * (1 - p) / 1e6));
    EXPECT_NEAR(y.max().item<double>(), 1 / (1 - p), 1e-5);
  }
}

TEST(Dropout, NeighboursAndNeighbouringSeedsAreIndependent) {
  const int64_t n = 1 << 20;
  const std::vector<float> ones(n, 1);
  std::vector<float> a(n), b(n);
  kernels::dropout(ones.data(), a.data(), n, 1, 0, 1u << 31, 1);
  kernels::dropout(ones.data(), b.data(), n, 2, 0, 1u << 31, 1);
  const auto correlation = [&](const std::vector<float>& u, const std::vector<float>& v, int64_t shift) {
    double sum = 0;
    for (int64_t i = 0; i + shift < n; ++i) sum += (u[i] - 0.5) * (v[i + shift] - 0.5);
    return 4 * sum / static_cast<double>(n);
  };
  for (const int64_t shift : {1, 2, 7, 512, 2048}) EXPECT_NEAR(correlation(a, a, shift), 0, 5e-3) << shift;
  for (const int64_t shift : {0, 1, 2048}) EXPECT_NEAR(correlation(a, b, shift), 0, 5e-3) << shift;
}

TEST(Dropout, EveryTargetAndEverySplitGivesTheSame) {
  std::vector<float> x(1003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 1;
  std::vector<float> expected(x.size());
  kernels::dropout(x.data(), expected.data(), 1003, 77, 5, 1u << 30, 1.5f);
  tests::on_every_cpu_target([&] {
    for (const int64_t cut : {0, 1, 7, 64, 1000}) {
      std::vector<float> pieces(x.size());
      kernels::dropout(x.data(), pieces.data(), cut, 77, 5, 1u << 30, 1.5f);
      kernels::dropout(x.data() + cut, pieces.data() + cut, 1003 - cut, 77, 5 + cut, 1u << 30, 1.5f);
      EXPECT_EQ(pieces, expected) << cut;
    }
  });
}

TEST(Dropout, GoesOnBeyondTwoToTheThirtyTwo) {
  const std::vector<float> ones(64, 1);
  std::vector<float> over(64), after(32), start(32);
  const int64_t edge = int64_t{1} << 32;
  kernels::dropout(ones.data(), over.data(), 64, 9, edge - 32, 1u << 31, 1);
  kernels::dropout(ones.data(), after.data(), 32, 9, edge, 1u << 31, 1);
  kernels::dropout(ones.data(), start.data(), 32, 9, 0, 1u << 31, 1);
  EXPECT_EQ(std::vector<float>(over.begin() + 32, over.end()), after);
  EXPECT_NE(after, start);
}

TEST(Dropout, TheBackwardPassUsesTheSameNumbers) {
  torch::manual_seed(1);
  const torch::Tensor x = torch::rand({40, 50}).add_(1).requires_grad_();
  const torch::Tensor y = ops::dropout(x, 0.3, true);
  const torch::Tensor g = torch::randn({40, 50});
  y.backward(g);
  EXPECT_TRUE(tests::close(x.grad(), g * y.detach() / x.detach(), 1e-6));
}

TEST(Dropout, SecondDerivativeDropsTheSame) {
  const torch::Tensor x = torch::rand({40, 50}).add_(1).requires_grad_();
  const torch::Tensor y = ops::dropout(x, 0.3, true);
  const torch::Tensor mask = (y / x).detach();
  const torch::Tensor first = torch::autograd::grad({y.pow(3).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  const torch::Tensor second = torch::autograd::grad({first.sum()}, {x})[0];
  EXPECT_TRUE(tests::close(second, 6 * mask.pow(3) * x.detach(), 1e-4));
}

TEST(Dropout, DoesNotDependOnThreadsAndFollowsTheSeed) {
  const tests::ThreadsGuard restore;
  const torch::Tensor x = torch::ones({300, 700});
  const auto drawn = [&](uint64_t seed, int threads) {
    at::set_num_threads(threads);
    torch::manual_seed(seed);
    return ops::dropout(x, 0.5, true);
  };
  EXPECT_TRUE(tests::same(drawn(1, 1), drawn(1, 2)));
  EXPECT_FALSE(tests::close(drawn(1, 1), drawn(2, 1), 1e-6));
}

TEST(Dropout, LeavesAloneWhatIsNotTrained) {
  const torch::Tensor x = torch::ones({3});
  EXPECT_TRUE(ops::dropout(x, 0.5, false).is_same(x));
  EXPECT_TRUE(ops::dropout(x, 0, true).is_same(x));
  EXPECT_EQ(ops::dropout(x.to(torch::kFloat64), 0.5, true).scalar_type(), torch::kFloat64);
  EXPECT_EQ(ops::dropout(torch::ones({0, 3}), 0.5, true).numel(), 0);
}

}  // namespace
}  // namespace primal
