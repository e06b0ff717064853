#include "analysis/ksvd_conditions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "base/peak_memory.h"
#include "support/attention.h"
#include "support/ksvd_solution.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using torch::Tensor;

constexpr int64_t kTokens = 20;

KsvdConditions measured(const PrimalAttention& layer, const Tensor& x, const std::optional<Tensor>& padding = {}) {
  return ksvd_conditions(ksvd_factors(*layer, x, padding).value(), {layer->we, layer->wr, layer->lambda()});
}

void expect_value(const KsvdConditions& conditions, Measure measure, double value, double tolerance) {
  EXPECT_LT((conditions.of(measure) - value).abs().max().item<double>(), tolerance)
      << measure_facts()[index_of(measure)].key;
}

struct KsvdLayerKind {
  const char* name;
  PrimalAttentionOptions options;
};

class KsvdConditionsTest : public testing::TestWithParam<KsvdLayerKind> {
 protected:
  KsvdConditionsTest() { torch::manual_seed(3); }

  PrimalAttention layer = tests::double_layer(GetParam().options);
  Tensor x = torch::randn({1, kTokens, 12}, torch::kDouble);
};

const PrimalAttentionOptions kSampled{.width = 12, .heads = 2, .rank = 4, .rows = 15};
const PrimalAttentionOptions kPlain{.width = 12, .heads = 2, .rank = 4, .data_dependent = false};
const PrimalAttentionOptions kCausal{.width = 12, .heads = 2, .rank = 4, .causal = true};

INSTANTIATE_TEST_SUITE_P(Kinds, KsvdConditionsTest,
                         testing::Values(KsvdLayerKind{"sampled", kSampled}, KsvdLayerKind{"plain", kPlain},
                                         KsvdLayerKind{"causal", kCausal}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(KsvdConditionsTest, SingularValuesAreThoseOfTheKernelMatrix) {
  const Tensor values = at::linalg_svdvals(tests::kernel_matrix(*layer, x).k).narrow(1, 0, 6);
  const auto factors = ksvd_factors(*layer, x);
  EXPECT_TRUE(close(factors->singular_values[0], values, 1e-12));
}

TEST_P(KsvdConditionsTest, SolutionMeetsEveryCondition) {
  const Tensor values = tests::set_to_kernel_svd(*layer, x);
  const KsvdConditions conditions = measured(layer, x);
  for (const MeasureFacts& facts : measure_facts()) {
    if (!std::isnan(facts.of_ksvd)) expect_value(conditions, facts.measure, facts.of_ksvd, 1e-7);
  }
  for (const Measure measure : {Measure::residual, Measure::forward, Measure::balance, Measure::overlap_e}) {
    expect_value(conditions, measure, 0, 1e-10);
  }
  const double trace = (layer->we * layer->wr).sum().item<double>();  // at this scale it is the sum of the values
  EXPECT_NEAR(trace, values.sum().item<double>(), 1e-10);
}

TEST_P(KsvdConditionsTest, OtherPairsMeetTheConditionsButKeepLess) {
  tests::set_to_kernel_svd(*layer, x, /*first=*/2);
  const KsvdConditions conditions = measured(layer, x);
  expect_value(conditions, Measure::residual, 0, 1e-9);
  expect_value(conditions, Measure::subspace_e, 0.5, 1e-9);  // two of the best four are among them
  EXPECT_LT(conditions.of(Measure::energy).max().item<double>(), 0.9);
  EXPECT_GT((conditions.of(Measure::lambda_ratio) - 1).abs().min().item<double>(), 0.1);
}

TEST_P(KsvdConditionsTest, WrongLambdaLeavesTheDirections) {
  tests::set_to_kernel_svd(*layer, x);
  layer->lam.data().mul_(0.3);
  const KsvdConditions conditions = measured(layer, x);
  expect_value(conditions, Measure::residual, 1 - 0.09, 1e-9);
  expect_value(conditions, Measure::direction, 0, 1e-7);
  expect_value(conditions, Measure::rank_correlation, 1, 1e-9);
  expect_value(conditions, Measure::lambda_ratio, 1 / 0.09, 1e-8);
}

TEST_P(KsvdConditionsTest, ZeroObjectiveOfRandomWeightsProvesNothing) {
  const torch::NoGradGuard no_grad;
  layer->wr.add_(layer->we, 0.5);  // a trace above zero
  const KsvdTerms terms = layer->forward(x).terms;
  ASSERT_GT(terms.tr.item<double>(), 0);
  layer->lam.mul_((terms.tr / (terms.le + terms.lr)).sqrt().item<double>());
  const KsvdConditions conditions = measured(layer, x);
  expect_value(conditions, Measure::balance, 0, 1e-10);
  EXPECT_GT(conditions.of(Measure::residual).min().item<double>(), 0.5);
}

TEST_P(KsvdConditionsTest, SizesOfTheObjectiveAreThoseOfTheLoss) {
  const KsvdTerms terms = layer->forward(x).terms;
  const double le = terms.le.item<double>(), lr = terms.lr.item<double>(), tr = std::abs(terms.tr.item<double>());
  const KsvdConditions conditions = measured(layer, x);
  expect_value(conditions, Measure::balance, std::abs(terms.objective().item<double>()) / (le + lr + tr), 1e-12);
  expect_value(conditions, Measure::largest_part, std::max({le, lr, tr}), 1e-12);
}

// x and both projections in other channels. all: [D, D], orthogonal
void rotate(PrimalAttention& layer, Tensor& x, const Tensor& all) {
  const torch::NoGradGuard no_grad;
  x = x.matmul(all);
  for (auto& projection : {layer->q_proj, layer->k_proj}) {
    projection->weight.copy_(all.t().matmul(projection->weight).matmul(all));
    projection->bias.copy_(projection->bias.matmul(all));
  }
}

void expect_same(const KsvdConditions& actual, const KsvdConditions& expected, double tolerance) {
  for (const MeasureFacts& facts : measure_facts()) {
    EXPECT_TRUE(close(actual.of(facts.measure), expected.of(facts.measure), tolerance)) << facts.key;
  }
}

TEST_P(KsvdConditionsTest, RotationOfTheChannelsOfAHeadChangesNothing) {
  if (!layer->options().data_dependent.value_or(true)) GTEST_SKIP() << "the weights would have to turn as well";
  const KsvdConditions before = measured(layer, x);
  const Tensor turn = std::get<0>(at::linalg_qr(torch::randn({6, 6}, torch::kDouble)));
  rotate(layer, x, at::block_diag({turn, turn}));
  expect_same(measured(layer, x), before, 1e-10);
}

TEST_P(KsvdConditionsTest, HeadsInAnotherOrderHaveTheSameValues) {
  const KsvdConditions before = measured(layer, x);
  rotate(layer, x, torch::eye(12, torch::kDouble).roll(6, 0));
  const torch::NoGradGuard no_grad;
  for (auto& parameter : {layer->we, layer->wr, layer->lam}) parameter.data().copy_(parameter.flip(0));
  const KsvdConditions after = measured(layer, x);
  EXPECT_TRUE(close(after.of(Measure::residual), before.of(Measure::residual).flip(1), 1e-10));
  EXPECT_TRUE(close(after.of(Measure::energy), before.of(Measure::energy).flip(1), 1e-10));
}

TEST_P(KsvdConditionsTest, SignsOfColumnsChangeNothing) {
  const KsvdConditions before = measured(layer, x);
  const Tensor signs = torch::tensor({1.0, -1.0, -1.0, 1.0}, torch::kDouble);
  layer->we.data().mul_(signs);
  layer->wr.data().mul_(signs);
  expect_same(measured(layer, x), before, 1e-12);
}

TEST_P(KsvdConditionsTest, SizeOfTheWeightsMattersToTheObjectiveOnly) {
  const KsvdConditions before = measured(layer, x);
  layer->we.data().mul_(7);
  layer->wr.data().mul_(7);
  const KsvdConditions after = measured(layer, x);
  for (size_t m = 0; m < index_of(Measure::balance); ++m) {
    EXPECT_TRUE(close(after.values[m], before.values[m], 1e-10)) << measure_facts()[m].key;
  }
}

TEST_P(KsvdConditionsTest, PaddingChangesNothing) {
  const KsvdConditions alone = measured(layer, x);
  const Tensor nothing = torch::full({1, 5, 12}, std::nan(""), torch::kDouble);
  const Tensor two = torch::cat({torch::cat({x, nothing}, 1), torch::randn({1, kTokens + 5, 12}, torch::kDouble)});
  const KsvdConditions padded = measured(layer, two, padding_mask(torch::tensor({kTokens, kTokens + 5}), kTokens + 5));
  for (size_t m = 0; m < kMeasures; ++m) {
    EXPECT_TRUE(close(padded.values[m].narrow(0, 0, 1), alone.values[m], 1e-10)) << measure_facts()[m].key;
  }
}

TEST_P(KsvdConditionsTest, SamplesWithoutTokensAreLeftOut) {
  const Tensor empty = torch::ones({1, kTokens}, torch::kBool);
  EXPECT_FALSE(ksvd_factors(*layer, x, empty).has_value());
  const auto both = ksvd_factors(*layer, torch::cat({x, x}), torch::cat({empty, empty.logical_not()}));
  EXPECT_EQ(both->samples(), 1);
}

TEST_P(KsvdConditionsTest, FewerTokensThanTheRankAreMeasured) {
  const KsvdConditions conditions = measured(layer, x.narrow(1, 0, 3));
  EXPECT_TRUE(conditions.of(Measure::residual).isfinite().all().item<bool>());
  expect_value(conditions, Measure::subspace_e, 1, 1e-9);  // three tokens have no more than three directions
}

TEST_P(KsvdConditionsTest, ManyTokensNeedNoMatrixOfTheirSquare) {
  const Tensor many = torch::randn({1, 20000, 12});
  if (!base::reset_peak_memory()) GTEST_SKIP() << "the system does not tell";
  const int64_t before = base::peak_memory();
  EXPECT_TRUE(measured(layer, many).of(Measure::residual).isfinite().all().item<bool>());
  EXPECT_LT(base::peak_memory() - before, 300 << 20);  // 20000^2 numbers take 3,200 MB
}

TEST(KsvdFactors, WorkedExampleOfTheMethod) {
  const auto grid = [](at::IntArrayRef shape, int64_t offset) {
    const int64_t numbers = c10::multiply_integers(shape);
    return ((torch::arange(numbers) * 7 + offset).remainder(11) - 5).to(torch::kDouble).div(10).view(shape);
  };
  PrimalAttention layer = tests::double_layer({.width = 4, .heads = 2, .rank = 2, .rows = 3});
  const torch::NoGradGuard no_grad;
  for (auto& parameter : layer->parameters()) parameter.zero_();
  layer->q_proj->weight.copy_(grid({4, 4}, 1));
  layer->k_proj->weight.copy_(grid({4, 4}, 2));
  const auto factors = ksvd_factors(*layer, grid({1, 4, 4}, 3));
  const Tensor expected = torch::tensor({1.121932, 0.329474, 1.625306, 0.030820}, torch::kDouble).view({1, 2, 2});
  EXPECT_TRUE(close(factors->singular_values, expected, 5e-7));
}

TEST(KsvdConditions, RandomWeightsOfFullRankHoldEverything) {
  torch::manual_seed(1);
  PrimalAttention layer = tests::double_layer({.width = 8, .heads = 2, .rank = 6, .rows = 12});
  const KsvdConditions conditions = measured(layer, torch::randn({2, 15, 8}, torch::kDouble));
  expect_value(conditions, Measure::energy, 1, 1e-9);
  expect_value(conditions, Measure::subspace_r, 1, 1e-9);
  EXPECT_GT(conditions.of(Measure::direction).min().item<double>(), 0.5);
}

// Of twelve rows the head sees four directions.
TEST(KsvdConditions, WeightsOutsideTheRangeOfTheRowsHaveNoEffect) {
  torch::manual_seed(1);
  PrimalAttention layer = tests::double_layer({.width = 8, .heads = 2, .rank = 3, .rows = 12});
  const Tensor x = torch::randn({1, 30, 8}, torch::kDouble);
  const double random = measured(layer, x).of(Measure::ineffective).mean().item<double>();
  EXPECT_NEAR(random, 8.0 / 12, 0.15);
  tests::set_to_kernel_svd(*layer, x);
  expect_value(measured(layer, x), Measure::ineffective, 0, 1e-10);
}

// dJ / dWr = F Phi_k^T R L - We where the trace is of We and Wr; of the made weights it is F (Phi_k^T R L - F^T We).
TEST(KsvdConditions, AreTheGradientOfTheObjective) {
  torch::manual_seed(1);
  for (const Trace trace : {Trace::raw, Trace::data_dependent}) {
    PrimalAttention layer = tests::double_layer({.width = 8, .heads = 1, .rank = 3, .rows = 12, .trace = trace});
    const Tensor x = torch::randn({1, 30, 8}, torch::kDouble);
    layer->forward(x).terms.objective().sum().backward();
    const KsvdConditions conditions = measured(layer, x);
    Tensor expected = (conditions.wanted_we - conditions.we)[0];
    if (trace == Trace::data_dependent) expected = ksvd_factors(*layer, x)->sampled[0].matmul(expected);
    EXPECT_TRUE(close(layer->wr.grad(), expected, 1e-10));
  }
}

TEST(KsvdFactors, TooManyFeaturesAreAnError) {
  PrimalAttention layer = tests::double_layer(
      {.width = 16, .heads = 1, .rank = 2, .feature_map = "polynomial(4)", .data_dependent = false});
  try {
    ksvd_factors(*layer, torch::zeros({1, 3, 16}, torch::kDouble));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "ksvd: a head has 3876 features, expected at most 1024");
  }
}

}  // namespace
}  // namespace primal::analysis
