#include "nn/ksvd_conditions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <cmath>

#include "analysis/ksvd_conditions.h"
#include "support/attention.h"
#include "support/ksvd_solution.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using torch::Tensor;

struct ConditionsCase {
  const char* name;
  PrimalAttentionOptions options;
};

class KsvdConditionsLoss : public testing::TestWithParam<ConditionsCase> {
 protected:
  KsvdConditionsLoss() { torch::manual_seed(2); }

  Tensor loss(KsvdReduction reduction = KsvdReduction::per_sample) {
    return ksvd_conditions(*layer, x, padding, reduction);
  }

  PrimalAttention layer = tests::double_layer(GetParam().options);
  Tensor x = torch::randn({3, 9, 8}, torch::kDouble);
  Tensor padding = padding_mask(torch::tensor({9, 6, 8}), 9);
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, KsvdConditionsLoss,
    testing::Values(
        ConditionsCase{"sampled", {.width = 8, .heads = 2, .rank = 3, .rows = 7}},
        ConditionsCase{"published", {.width = 8, .heads = 2, .rank = 3, .rows = 7, .padding = Padding::ignore}},
        ConditionsCase{"traced", {.width = 8, .heads = 2, .rank = 3, .rows = 7, .trace = Trace::data_dependent}},
        ConditionsCase{"mapped", {.width = 8, .heads = 2, .rank = 3, .rows = 7, .feature_map = "polynomial(2)"}},
        ConditionsCase{"plain", {.width = 8, .heads = 2, .rank = 3, .data_dependent = false}},
        ConditionsCase{"causal", {.width = 8, .heads = 2, .rank = 3, .feature_map = "identity", .causal = true}},
        ConditionsCase{"fading", {.width = 8, .heads = 2, .rank = 3, .causal = true, .memory = Memory::decay}}),
    [](const auto& kind) { return kind.param.name; });

// The analysis finds the same residuals on another way.
TEST_P(KsvdConditionsLoss, IsTheResidualThatIsMeasured) {
  using analysis::Measure;
  const auto factors = analysis::ksvd_factors(*layer, x, padding);
  const auto measured = analysis::ksvd_conditions(*factors, {layer->we, layer->wr, layer->lambda()});
  const Tensor expected =
      (measured.of(Measure::residual_e).square() + measured.of(Measure::residual_r).square()).mean(1);
  EXPECT_TRUE(close(loss(KsvdReduction::none), expected, 1e-10));
  EXPECT_TRUE(close(loss(), expected.mean(), 1e-10));
}

TEST_P(KsvdConditionsLoss, GradientIsThatOfItsDifferences) {
  for (const KsvdReduction reduction : {KsvdReduction::per_sample, KsvdReduction::batch_mean}) {
    std::vector<Tensor> inputs = {layer->we, layer->wr, layer->lam, layer->q_proj->weight, layer->k_proj->bias};
    if (layer->log_scale.defined()) inputs.push_back(layer->log_scale);
    inputs.push_back(x.detach().requires_grad_());
    const Tensor tokens = inputs.back();
    const auto value = [&] { return ksvd_conditions(*layer, tokens, padding, reduction); };
    const auto gradients = torch::autograd::grad({value()}, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensor data = inputs[i].detach();  // shares memory with it
      const Tensor before = data.clone();
      const Tensor expected = tests::numeric_gradient(
          [&](const Tensor& at) {
            const torch::NoGradGuard no_grad;
            data.copy_(at);
            return value().item<double>();
          },
          before);
      data.copy_(before);
      EXPECT_TRUE(close(gradients[i], expected, 1e-6)) << i;
    }
  }
}

TEST_P(KsvdConditionsLoss, PaddedTokensHaveNoEffect) {
  if (layer->options().padding != Padding::respect) GTEST_SKIP();
  const Tensor before = loss();
  x.masked_fill_(padding.unsqueeze(-1), std::nan(""));
  EXPECT_TRUE(close(loss(), before, 1e-12));
}

TEST_P(KsvdConditionsLoss, SizeOfTheWeightsDoesNotMatter) {
  const Tensor before = loss();
  layer->we.data().mul_(1e-3);
  layer->wr.data().mul_(1e-3);
  EXPECT_TRUE(close(loss(), before, 1e-10));
}

TEST_P(KsvdConditionsLoss, BFloat16TokensAreWidened) {
  layer->to(torch::kFloat32);
  const Tensor narrow = ksvd_conditions(*layer, x.to(torch::kBFloat16), padding, KsvdReduction::per_sample);
  EXPECT_EQ(narrow.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(narrow.item<double>(), loss().item<double>(), 0.1);
}

TEST(KsvdConditionsOfBatch, ZeroAtASolutionOnly) {
  torch::manual_seed(2);
  PrimalAttention layer = tests::double_layer({.width = 8, .heads = 2, .rank = 3, .rows = 7});
  const Tensor x = torch::randn({1, 12, 8}, torch::kDouble);
  EXPECT_GT(ksvd_conditions(*layer, x, {}, KsvdReduction::per_sample).item<double>(), 0.5);
  tests::set_to_kernel_svd(*layer, x);
  EXPECT_LT(ksvd_conditions(*layer, x, {}, KsvdReduction::per_sample).item<double>(), 1e-20);
  EXPECT_LT(ksvd_conditions(*layer, at::cat({x, x}), {}, KsvdReduction::batch_mean).item<double>(), 1e-20);
}

// J of the mean is stationary where its gradient is zero.
TEST(KsvdConditionsOfBatch, OfTheMeanAreTheGradientOfMeanJ) {
  torch::manual_seed(2);
  PrimalAttention layer = tests::double_layer({.width = 8, .heads = 1, .rank = 3, .rows = 7});
  const Tensor x = torch::randn({4, 12, 8}, torch::kDouble);
  layer->forward(x).terms.objective().mean().backward();
  const auto share = [](const Tensor& gradient, const Tensor& weights) {
    return (gradient.square().sum() / weights.square().sum()).item<double>();
  };
  EXPECT_NEAR(ksvd_conditions(*layer, x, {}, KsvdReduction::batch_mean).item<double>(),
              share(layer->wr.grad(), layer->we) + share(layer->we.grad(), layer->wr), 1e-10);
}

// What the option promises and J^2 does not: made small by itself, it ends at a kernel SVD.
TEST(KsvdConditionsOfBatch, TrainingByItAloneFindsSingularDirections) {
  torch::manual_seed(2);
  PrimalAttention layer = tests::double_layer({.width = 8, .heads = 2, .rank = 2, .data_dependent = false});
  const Tensor x = torch::randn({1, 30, 8}, torch::kDouble);
  const std::vector<Tensor> learnt = {layer->we, layer->wr, layer->lam};
  torch::Tensor loss;
  std::vector<Tensor> mean(3), square(3);  // Adam
  for (int step = 1; step <= 3000; ++step) {
    loss = ksvd_conditions(*layer, x, {}, KsvdReduction::per_sample);
    const auto gradients = torch::autograd::grad({loss}, learnt);
    for (size_t i = 0; i < learnt.size(); ++i) {
      mean[i] = step == 1 ? gradients[i] * 0.1 : mean[i] * 0.9 + gradients[i] * 0.1;
      square[i] = step == 1 ? gradients[i].square() * 1e-3 : square[i] * 0.999 + gradients[i].square() * 1e-3;
      const Tensor by =
          (mean[i] / (1 - std::pow(0.9, step))) / ((square[i] / (1 - std::pow(0.999, step))).sqrt() + 1e-10);
      learnt[i].data().sub_(by, 0.02 * std::exp(-step / 600.0));
    }
  }
  EXPECT_LT(loss.item<double>(), 1e-4);
  const auto factors = analysis::ksvd_factors(*layer, x);
  const auto found = analysis::ksvd_conditions(*factors, {layer->we, layer->wr, layer->lambda()});
  EXPECT_LT(found.of(analysis::Measure::residual).max().item<double>(), 0.01);
}

}  // namespace
}  // namespace primal::nn
