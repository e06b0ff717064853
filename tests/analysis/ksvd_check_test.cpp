#include "analysis/ksvd_check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "analysis/ksvd_conditions.h"
#include "analysis/ksvd_verdict.h"
#include "nn/encoder.h"
#include "nn/record.h"
#include "support/ksvd_solution.h"

namespace primal::analysis {
namespace {

using torch::Tensor;

class KsvdCheckTest : public testing::Test {
 protected:
  KsvdCheckTest() {
    torch::manual_seed(1);
    encoder->to(torch::kDouble);
  }

  std::vector<KsvdLayer> check(const Tensor& tokens, KsvdCheckOptions options = {.draws = 40}) {
    return ksvd_check(
        *encoder, [&] { encoder(tokens); }, options);
  }
  PrimalAttentionImpl& solve(const Tensor& tokens) {  // the second layer, for what it sees of these
    const auto records = nn::record(*encoder, [&] { encoder(tokens); });
    PrimalAttentionImpl& layer = *records[1].attention->primal();
    tests::set_to_kernel_svd(layer, records[1].input);
    return layer;
  }

  nn::Encoder encoder{std::vector<nn::EncoderLayerOptions>{
      {.attention = {.kind = "softmax", .width = 12, .heads = 2}, .feed_forward = 16},
      {.attention = {.width = 12, .heads = 2, .primal = {.rank = 3, .rows = 10}}, .feed_forward = 16}}};
  Tensor x = torch::randn({4, 25, 12}, torch::kDouble);
};

TEST_F(KsvdCheckTest, FreshWeightsAreLikeRandomOnes) {
  const auto layers = check(x);
  ASSERT_EQ(layers.size(), 1u);  // the softmax layer has none
  const KsvdLayer& layer = layers[0];
  EXPECT_EQ(layer.name, "layer 2");
  EXPECT_EQ(layer.rank, 3);
  EXPECT_EQ(layer.rows, 10);
  EXPECT_EQ(layer.features, 6);
  EXPECT_EQ(layer.heads, 2);
  EXPECT_EQ(layer.samples, 4);
  EXPECT_EQ(layer.own.of(Measure::residual).count(), 4 * 2);
  EXPECT_EQ(layer.own.heads[1][index_of(Measure::residual)].count(), 4);
  EXPECT_EQ(layer.random.of(Measure::residual).count(), 40 * 2);
  for (const Measure measure : {Measure::direction, Measure::subspace_e, Measure::energy, Measure::ineffective}) {
    const Spread &own = layer.own.of(measure), &random = layer.random.of(measure);
    EXPECT_LT(std::abs(own.mean() - random.mean()), 3 * random.deviation()) << static_cast<int>(measure);
  }
  const KsvdVerdict verdict = ksvd_verdict(layer);
  EXPECT_EQ(verdict.grade, KsvdGrade::chance);
  EXPECT_TRUE(verdict.text.starts_with("layer 2 is not a kernel SVD, and no closer to one than random weights: "));
}

TEST_F(KsvdCheckTest, SolvedLayerIsFound) {
  solve(x.narrow(0, 0, 1));
  const KsvdLayer layer = check(x.narrow(0, 0, 1))[0];
  EXPECT_LT(layer.own.of(Measure::residual).mean(), 1e-9);
  EXPECT_LT(layer.own.mean_residual.mean(), 1e-9);
  EXPECT_GT(layer.random.of(Measure::residual).mean(), 0.5);
  EXPECT_GT(layer.random.mean_residual.mean(), 0.5);
  EXPECT_EQ(ksvd_verdict(layer).grade, KsvdGrade::holds);
}

// One pair of weights serves all inputs.
TEST_F(KsvdCheckTest, SolutionOfOneSampleIsNoneOfAnother) {
  solve(x.narrow(0, 0, 1));
  const KsvdLayer layer = check(x.narrow(0, 1, 1))[0];
  EXPECT_GT(layer.own.of(Measure::residual).mean(), 0.2);
  EXPECT_NE(ksvd_verdict(layer).grade, KsvdGrade::holds);
}

TEST_F(KsvdCheckTest, MeanConditionsAreThoseOfTheGradientOfTheMean) {
  auto& layer = *nn::record(*encoder, [&] { encoder(x); })[1].attention->primal();
  const auto input = nn::record(*encoder, [&] { encoder(x); })[1].input;
  layer.forward(input).terms.objective().mean().backward();
  // J is a mean over the heads, so a head's gradient is a half of its condition.
  const Tensor off = torch::stack({layer.wr.grad(), layer.we.grad()}).mul(2).square().sum({0, 2, 3});
  const Tensor all = torch::stack({layer.we, layer.wr}).square().sum({0, 2, 3});
  EXPECT_NEAR(check(x)[0].own.mean_residual.mean(), (off / all).sqrt().mean().item<double>(), 1e-9);
}

TEST_F(KsvdCheckTest, CallsOfALayerAreOneSet) {
  const auto both = check(x);
  const auto apart = ksvd_check(*encoder, [&] {
    encoder(x.narrow(0, 0, 3));
    encoder(x.narrow(0, 3, 1));
  });
  EXPECT_EQ(apart[0].samples, 4);
  EXPECT_NEAR(apart[0].own.of(Measure::energy).mean(), both[0].own.of(Measure::energy).mean(), 1e-12);
  EXPECT_NEAR(apart[0].own.mean_residual.mean(), both[0].own.mean_residual.mean(), 1e-12);
  EXPECT_NEAR(apart[0].random.mean_residual.mean(), both[0].random.mean_residual.mean(), 1e-12);
  EXPECT_NEAR(apart[0].kernel.explained[2], both[0].kernel.explained[2], 1e-12);
}

TEST_F(KsvdCheckTest, SpectrumIsThatOfTheKernelMatrix) {
  const auto records = nn::record(*encoder, [&] { encoder(x.narrow(0, 0, 1)); });
  const Tensor k = tests::kernel_matrix(*records[1].attention->primal(), records[1].input).k;
  const Tensor energy = at::linalg_svdvals(k).square();
  const Tensor share = energy / energy.sum(1, true);
  const KernelFacts kernel = check(x.narrow(0, 0, 1))[0].kernel;
  ASSERT_EQ(kernel.explained.size(), 6u);
  EXPECT_NEAR(kernel.explained[1], share.cumsum(1).select(1, 1).mean().item<double>(), 1e-12);
  EXPECT_NEAR(kernel.explained[5], 1, 1e-12);
  const Tensor used = share.narrow(1, 0, 6);
  EXPECT_NEAR(kernel.effective_rank, (-used * used.log()).sum(1).exp().mean().item<double>(), 1e-9);
}

TEST_F(KsvdCheckTest, GeneratorOfLibTorchIsLeftAlone) {
  torch::manual_seed(5);
  const Tensor expected = torch::rand({3});
  torch::manual_seed(5);
  check(x);
  EXPECT_TRUE(torch::rand({3}).equal(expected));
}

TEST_F(KsvdCheckTest, SeedChoosesTheRandomWeights) {
  const auto energy = [&](uint64_t seed) {
    return check(x, {.draws = 8, .seed = seed})[0].random.of(Measure::energy).mean();
  };
  EXPECT_EQ(energy(1), energy(1));
  EXPECT_NE(energy(1), energy(2));
}

TEST_F(KsvdCheckTest, WithoutCallsThereAreNoLayers) {
  EXPECT_TRUE(ksvd_check(*encoder, [] {}).empty());
}

}  // namespace
}  // namespace primal::analysis
