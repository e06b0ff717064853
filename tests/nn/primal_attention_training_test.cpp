// A layer learns: an optimizer on task loss + KSVD makes both smaller.
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <utility>

#include "primal/attention.h"

namespace primal {
namespace {

using torch::Tensor;

struct Losses {
  double task, ksvd;
};

/// Fits the layer to a fixed random target; the losses before the first and after the last step.
std::pair<Losses, Losses> train(PrimalAttention layer, double eta, KsvdReduction reduction) {
  const Tensor x = torch::randn({8, 10, 16}), target = torch::randn({8, 10, 16});
  torch::optim::Adam optimizer(layer->parameters(), torch::optim::AdamOptions(0.01));
  const auto losses = [&] {
    auto [out, terms] = layer->forward(x);
    return std::pair{torch::mse_loss(out, target), ksvd_loss({terms}, 1.0, reduction)};
  };
  const auto values = [&]() -> Losses {
    auto [task, ksvd] = losses();
    return {task.item<double>(), ksvd.item<double>()};
  };
  const Losses before = values();
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    auto [task, ksvd] = losses();
    (task + eta * ksvd).backward();
    optimizer.step();
  }
  return {before, values()};
}

class Training : public testing::TestWithParam<std::pair<bool, KsvdReduction>> {
 protected:
  void SetUp() override { torch::manual_seed(23); }
  PrimalAttention layer() const {
    return PrimalAttention(
        PrimalAttentionOptions{.width = 16, .heads = 2, .rank = 4, .rows = 6, .causal = GetParam().first});
  }
};
INSTANTIATE_TEST_SUITE_P(PrimalAttention, Training,
                         testing::Values(std::pair{false, KsvdReduction::per_sample},
                                         std::pair{false, KsvdReduction::batch_mean},
                                         std::pair{true, KsvdReduction::per_sample}));

TEST_P(Training, ReducesTheTaskLossAndTheKsvdObjective) {
  const auto [before, after] = train(layer(), /*eta=*/1.0, GetParam().second);
  EXPECT_LT(after.task, 0.95 * before.task);
  EXPECT_LT(after.ksvd, 0.1 * before.ksvd);
}

TEST_P(Training, WithoutEtaLeavesLambdaAsItWas) {
  PrimalAttention trained = layer();
  const Tensor before = trained->lam.detach().clone();
  train(trained, /*eta=*/0.0, GetParam().second);
  EXPECT_TRUE(torch::equal(trained->lam, before));
}

}  // namespace
}  // namespace primal
