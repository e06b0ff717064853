#include "train/distil/distil.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/attention/kinds.h"
#include "support/attention.h"
#include "support/errors.h"
#include "support/ksvd_solution.h"
#include "support/tensors.h"
#include "train/distil/kernel_pairs.h"
#include "train/distil/least_squares.h"
#include "train/distil/output_directions.h"
#include "train/distil/output_fit.h"
#include "train/distil/shifted_projections.h"

namespace primal::train {
namespace {

using tests::close;
using torch::Tensor;

constexpr int64_t kWidth = 12, kHeads = 2;

PrimalAttentionOptions options_of(int64_t rank, bool data_dependent = true) {
  return {.width = kWidth, .heads = kHeads, .rank = rank, .rows = 9, .data_dependent = data_dependent};
}

std::vector<LayerSample> random_samples(int64_t sequences = 20, int64_t tokens = 30) {
  torch::manual_seed(3);
  const Tensor x = torch::randn({sequences, tokens, kWidth}, torch::kDouble);
  return {{.x = x, .y = torch::randn_like(x)}};
}

LayerSamples collected(const std::vector<LayerSample>& samples) {
  LayerSamples all;
  for (const LayerSample& sample : samples) all.add(sample);
  return all;
}

// What the layer makes of their inputs becomes what is to be learnt.
void set_outputs(std::vector<LayerSample>& samples, PrimalAttentionImpl& layer) {
  const torch::NoGradGuard no_grad;
  for (LayerSample& sample : samples) sample.y = layer.forward(sample.x, {.query_padding = sample.padding}).out;
}

TEST(LeastSquares, FindsWeightsAndIntercept) {
  torch::manual_seed(1);
  const Tensor x = torch::randn({50, 4}, torch::kDouble) + 3, weights = torch::randn({4, 2}, torch::kDouble);
  const Tensor bias = torch::randn({2}, torch::kDouble);
  LeastSquares sums(4, 2, /*intercept=*/true);
  for (const Tensor& part : x.split(20)) sums.add(part, part.matmul(weights) + bias);
  EXPECT_EQ(sums.rows(), 50);
  const Tensor found = sums.solve(0);
  EXPECT_TRUE(close(found, weights, 1e-10));
  EXPECT_TRUE(close(sums.intercept(found), bias, 1e-9));
}

TEST(LeastSquares, RidgeIsThatOfScaledFeatures) {
  torch::manual_seed(2);
  const Tensor x = torch::randn({40, 3}, torch::kDouble), y = torch::randn({40, 1}, torch::kDouble);
  const Tensor sizes = torch::tensor({1e-3, 1.0, 1e3}, torch::kDouble);
  const auto solved = [&](const Tensor& features) {
    LeastSquares sums(3, 1, /*intercept=*/false);
    sums.add(features, y);
    return sums.solve(0.5);
  };
  const Tensor rms = x.square().mean(0).sqrt(), scaled = x / rms;
  const Tensor gram = scaled.t().matmul(scaled) / 40 + 0.5 * torch::eye(3, torch::kDouble);
  EXPECT_TRUE(close(solved(scaled), at::linalg_solve(gram, scaled.t().matmul(y) / 40), 1e-10));
  EXPECT_TRUE(close(solved(x * sizes) * sizes.unsqueeze(1), solved(x), 1e-9));
}

TEST(LeastSquares, AFeatureThatIsConstantGetsNoWeight) {
  torch::manual_seed(2);
  const Tensor x = torch::cat({torch::randn({40, 2}, torch::kDouble), torch::full({40, 1}, 7.5, torch::kDouble)}, 1);
  LeastSquares sums(3, 1, /*intercept=*/true);
  sums.add(x, x.sum(1, true));
  EXPECT_TRUE(close(sums.solve(1e-9), torch::tensor({{1.0}, {1.0}, {0.0}}, torch::kDouble), 1e-6));
}

TEST(LayerSamples, HoldsOutEveryFifthSequenceAndDropsPaddedTokens) {
  LayerSamples samples;
  for (int64_t call = 0; call < 4; ++call) {  // 12 sequences
    const Tensor x = torch::arange(call * 3, call * 3 + 3, torch::kDouble).view({3, 1, 1}).expand({3, 4, 2});
    Tensor padding = torch::zeros({3, 4}, torch::kBool);
    padding.select(1, 3).fill_(true);
    samples.add({.x = x, .y = x, .padding = padding});
  }
  EXPECT_TRUE(samples.holds_out());
  EXPECT_EQ(samples.sequences(), 12);
  ASSERT_EQ(samples.held_out().size(), 1U);
  const LayerSample& held_out = samples.held_out().front();
  EXPECT_TRUE(close(held_out.x.select(1, 0).select(1, 0), torch::tensor({4.0, 9.0}, torch::kDouble), 0));
  EXPECT_EQ(real_rows(held_out, held_out.y).size(0), 6);
  ASSERT_EQ(samples.fit().size(), 1U);
  EXPECT_EQ(samples.fit().front().x.size(0), 10);
}

TEST(KernelPairs, AreStationaryForTheMeanOverAllSequences) {
  for (const bool data_dependent : {true, false}) {
    PrimalAttention layer = tests::double_layer(options_of(4, data_dependent));
    const ScoreGrams grams = score_grams(*layer, random_samples());
    put_kernel_pairs(*layer, grams);
    const Tensor lambda = layer->lambda().unsqueeze(1);
    EXPECT_TRUE(close(grams.b.matmul(layer->wr) * lambda, layer->we, 1e-8)) << data_dependent;
    EXPECT_TRUE(close(grams.a.matmul(layer->we) * lambda, layer->wr, 1e-8)) << data_dependent;
  }
}

TEST(KernelPairs, MakeJVanishInTheMean) {
  PrimalAttention layer = tests::double_layer(options_of(4));
  const std::vector<LayerSample> samples = random_samples();
  put_kernel_pairs(*layer, score_grams(*layer, samples));
  const KsvdTerms terms = layer->forward(samples[0].x).terms;
  EXPECT_NEAR((terms.le + terms.lr - terms.tr).mean().item<double>(), 0, 1e-10);
  EXPECT_GT(terms.tr.mean().item<double>(), 1e-3);
}

TEST(KernelPairs, OfOneSequenceAreThoseOfItsKernelMatrix) {
  PrimalAttention layer = tests::double_layer(options_of(3));
  const std::vector<LayerSample> samples = random_samples(/*sequences=*/1);
  const Tensor values = put_kernel_pairs(*layer, score_grams(*layer, samples));
  const Tensor k = tests::kernel_matrix(*layer, samples[0].x).k;
  EXPECT_TRUE(close(values * 30, at::linalg_svdvals(k).narrow(1, 0, 3), 1e-9));
  const AttentionScoreOutput scores = layer->scores(samples[0].x);
  const Tensor inverse = (layer->lambda() / 30).unsqueeze(1);
  EXPECT_TRUE(close(k.matmul(scores.r[0]) * inverse, scores.e[0], 1e-8));
}

TEST(KernelPairs, PaddedTokensDoNotCount) {
  std::vector<LayerSample> samples = random_samples(4), longer = samples;
  longer[0].x = torch::cat({samples[0].x, torch::full({4, 5, kWidth}, 1e3, torch::kDouble)}, 1);
  longer[0].padding = torch::arange(35).ge(30).expand({4, 35});
  PrimalAttention layer = tests::double_layer(options_of(4));
  EXPECT_TRUE(close(score_grams(*layer, longer).a, score_grams(*layer, samples).a, 1e-10));
}

// More pairs than features: the rest of the weights is left.
TEST(KernelPairs, BeyondTheFeaturesWeightsStay) {
  PrimalAttention layer = tests::double_layer(options_of(8, /*data_dependent=*/false));
  const Tensor before = layer->we.clone();
  put_kernel_pairs(*layer, score_grams(*layer, random_samples()));
  EXPECT_TRUE(close(layer->we.narrow(2, 6, 2), before.narrow(2, 6, 2), 0));
  EXPECT_TRUE(torch::isfinite(layer->lam).all().item<bool>());
}

// Rank 2: all scores of a head pass through the map to d = 6. Rank 5: they do not, and it has to be looked for.
TEST(OutputFit, FindsMapsThatThereAre) {
  for (const int64_t rank : {2, 5}) {
    PrimalAttention old = tests::double_layer(options_of(rank)), layer = tests::double_layer(options_of(rank));
    std::vector<LayerSample> samples = random_samples();
    set_outputs(samples, *old);
    const torch::NoGradGuard no_grad;
    layer->score_proj->weight.normal_();
    layer->out_proj->weight.normal_();
    layer->out_proj->bias.normal_();
    EXPECT_LT(explained_share(*layer, samples), 0.5) << rank;
    fit_output(*layer, collected(samples));
    EXPECT_GT(explained_share(*layer, samples), 1 - 1e-6) << rank;
  }
}

TEST(OutputFit, OfOneScoreAloneReadsNoOther) {
  for (const Projections projections : {Projections::right, Projections::left}) {
    PrimalAttentionOptions options = options_of(2);
    options.projections = projections;
    PrimalAttention old = tests::double_layer(options), layer = tests::double_layer(options);
    std::vector<LayerSample> samples = random_samples();
    set_outputs(samples, *old);
    const torch::NoGradGuard no_grad;
    layer->score_proj->weight.zero_();
    fit_output(*layer, collected(samples));
    EXPECT_GT(explained_share(*layer, samples), 1 - 1e-6);
  }
}

// No map does better: a change of any weight makes it worse.
TEST(OutputFit, IsAMinimum) {
  PrimalAttention layer = tests::double_layer(options_of(5));
  const std::vector<LayerSample> samples = random_samples(/*sequences=*/4);  // too few to hold any out: the least ridge
  fit_output(*layer, collected(samples));
  const double best = explained_share(*layer, samples);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor weight : {layer->score_proj->weight, layer->out_proj->weight, layer->out_proj->bias}) {
    const Tensor kept = weight.clone(), change = 1e-2 * torch::randn_like(weight);
    for (const double sign : {1.0, -1.0}) {
      weight.copy_(kept + sign * change);
      EXPECT_LT(explained_share(*layer, samples), best);
    }
    weight.copy_(kept);
  }
}

// Outputs are noise: the larger the ridge, the less is learnt from them.
TEST(OutputFit, ARidgeIsChosenThatHelpsWhereTooMuchWouldBeLearnt) {
  PrimalAttention layer = tests::double_layer(options_of(5));
  const LayerSamples samples = collected(random_samples(10, 8));
  const double share = fit_output(*layer, samples);
  EXPECT_DOUBLE_EQ(share, explained_share(*layer, samples.held_out()));
  EXPECT_GT(share, -0.2);
  EXPECT_LT(share, explained_share(*layer, samples.fit()));
}

// The mean of the outputs explains nothing, and a layer that is off does worse.
TEST(OutputFit, SharesAreOfTheVariance) {
  PrimalAttention layer = tests::double_layer(options_of(2));
  std::vector<LayerSample> samples = random_samples();
  samples[0].y += 5;
  const torch::NoGradGuard no_grad;
  layer->out_proj->weight.zero_();
  layer->out_proj->bias.copy_(samples[0].y.mean({0, 1}));
  EXPECT_NEAR(explained_share(*layer, samples), 0, 1e-12);
  layer->out_proj->bias.zero_();
  EXPECT_LT(explained_share(*layer, samples), -10);
}

// The old layer has the pairs of the kernel SVD, but other maps behind them and another Lambda.
TEST(Distil, RecoversALayerWithPairsOfTheKernelSvd) {
  PrimalAttention old = tests::double_layer(options_of(3)), layer = tests::double_layer(options_of(3));
  std::vector<LayerSample> samples = random_samples(40);
  put_kernel_pairs(*old, score_grams(*old, collected(samples).fit()));
  set_outputs(samples, *old);
  const torch::NoGradGuard no_grad;
  for (Tensor parameter : layer->parameters()) parameter.normal_();
  const DistilFacts facts = distil(*layer, *old, collected(samples), {.steps = 0});
  EXPECT_TRUE(facts.held_out);
  EXPECT_EQ(facts.sequences, 40);
  EXPECT_EQ(facts.tokens, 32 * 30);
  EXPECT_GT(facts.closed_form, 1 - 1e-6);
  EXPECT_LT(facts.random, 0.9);
}

// Uniform attention: the mean of the values so far, the same whatever the query is.
TEST(Distil, AConstantInQueriesAndKeysGivesMeans) {
  torch::manual_seed(6);
  const Tensor x = torch::randn({30, 20, kWidth}, torch::kDouble);
  const Tensor means = x.cumsum(1) / torch::arange(1, 21, torch::kDouble).view({1, 20, 1});
  PrimalAttentionOptions options = options_of(6, /*data_dependent=*/false);
  options.causal = true;
  PrimalAttention layer = tests::double_layer(options);
  const LayerSamples samples = collected({{.x = x, .y = means}});
  EXPECT_GT(distil(*layer, *torch::nn::Linear(2, 2), samples, {.steps = 0}).closed_form, 0.95);
  put_kernel_pairs(*layer, score_grams(*layer, samples.fit()));
  const ShiftedProjections projections(*layer, samples.fit());
  projections.shift(*layer, 0);
  const double plain = fit_output(*layer, samples);
  projections.shift(*layer, 64);
  EXPECT_GT(fit_output(*layer, samples), plain);
}

// Outputs that need other directions than those in which queries and keys are large.
TEST(OutputDirections, ExplainMoreThanTheFirstPairs) {
  PrimalAttention old = tests::double_layer(options_of(2, false)), layer = tests::double_layer(options_of(2, false));
  std::vector<LayerSample> samples = random_samples(40);
  samples[0].x = samples[0].x * torch::logspace(0, -1, kWidth, 10, torch::kDouble);
  const torch::NoGradGuard no_grad;
  for (auto& [own, other] : {std::pair{old->q_proj, layer->q_proj}, std::pair{old->k_proj, layer->k_proj}}) {
    other->weight.copy_(own->weight);
    other->bias.copy_(own->bias);
  }
  set_outputs(samples, *old);
  const LayerSamples all = collected(samples);
  const ScoreGrams grams = score_grams(*layer, all.fit());
  put_kernel_pairs(*layer, grams);
  const double of_pairs = fit_output(*layer, all);
  OutputDirections(*layer, grams, all.fit()).put(*layer, 1e-6);
  EXPECT_GT(fit_output(*layer, all), of_pairs);
  EXPECT_GT(fit_output(*layer, all), 0.999);
}

class DistilFromSoftmax : public testing::TestWithParam<bool> {
 protected:
  DistilFromSoftmax() {
    torch::manual_seed(5);
    old = nn::make_attention({.kind = "softmax", .width = kWidth, .heads = kHeads, .causal = GetParam()});
    const torch::NoGradGuard no_grad;
    Tensor padding = torch::zeros({150, 20}, torch::kBool);
    padding.narrow(0, 3, 50).narrow(1, 14, 6).fill_(true);
    Tensor x = torch::randn({150, 20, kWidth}).cumsum(1) / 3;
    x.masked_fill_(padding.unsqueeze(-1), 1e4);
    samples.add({.x = x, .y = old->forward(x, padding).out, .padding = padding});
    PrimalAttentionOptions options = options_of(4, !GetParam());
    options.causal = GetParam();
    layer = PrimalAttention(options);
  }

  std::shared_ptr<nn::Attention> old;
  LayerSamples samples;
  PrimalAttention layer{nullptr};
};

TEST_P(DistilFromSoftmax, GradientDescentExplainsMore) {
  int64_t looks = 0;
  const DistilFacts facts =
      distil(*layer, *old->module(), samples, {.steps = 150, .lr = 3e-3, .tell = [&](int64_t, double) { ++looks; }});
  EXPECT_EQ(looks, 10);
  EXPECT_GT(facts.closed_form, 0);
  EXPECT_GE(facts.distilled, facts.closed_form);
  EXPECT_DOUBLE_EQ(facts.distilled, explained_share(*layer, samples.held_out()));
  for (const auto& entry : layer->named_parameters()) {
    EXPECT_TRUE(torch::isfinite(entry.value()).all().item<bool>()) << entry.key();
  }
}

TEST_P(DistilFromSoftmax, TakesQueriesAndKeysOver) {
  distil(*layer, *old->module(), samples, {.steps = 0});
  const auto parameters = old->module()->named_parameters();
  EXPECT_TRUE(tests::same(layer->q_proj->weight.detach(), parameters["q_proj.weight"].detach()));
  EXPECT_TRUE(tests::same(layer->k_proj->weight.detach(), parameters["k_proj.weight"].detach()));
  const torch::NoGradGuard no_grad;
  const Tensor shift = layer->q_proj->bias - parameters["q_proj.bias"];
  EXPECT_TRUE(close(layer->k_proj->bias - parameters["k_proj.bias"], shift, 1e-6));
}

TEST_P(DistilFromSoftmax, StepsThatLeadAstrayAreForgotten) {
  const DistilFacts facts = distil(*layer, *old->module(), samples, {.steps = 20, .lr = 1e3});
  EXPECT_DOUBLE_EQ(facts.distilled, facts.closed_form);
  EXPECT_DOUBLE_EQ(explained_share(*layer, samples.held_out()), facts.closed_form);
}

INSTANTIATE_TEST_SUITE_P(BothWaysAndCausal, DistilFromSoftmax, testing::Bool());

// Pairs without a positive trace, and one with next to none.
TEST(KernelPairs, LambdaKeepsItsSizeWhateverTheTracesAre) {
  PrimalAttention layer = tests::double_layer(options_of(3));
  const ScoreGrams grams = score_grams(*layer, collected(random_samples()).fit());
  const auto lambda = [&] {
    put_lambda(*layer, grams);
    return layer->lam.detach().square();
  };
  const torch::NoGradGuard no_grad;
  layer->wr.copy_(layer->we);
  const double usual = lambda().max().item<double>();
  layer->wr.copy_(-layer->we);
  EXPECT_LT(lambda().max().item<double>(), usual);
  layer->wr.select(2, 0).copy_(1e-12 * layer->we.select(2, 0));
  const Tensor rest = lambda();
  EXPECT_TRUE(torch::isfinite(rest).all().item<bool>());
  EXPECT_LT(rest.max().item<double>(), 1e4 * usual);
}

TEST(Distil, NeedsATokenToLearnFrom) {
  PrimalAttention layer = tests::double_layer(options_of(3));
  LayerSamples samples;
  const Tensor x = torch::zeros({2, 3, kWidth}, torch::kDouble);
  samples.add({.x = x, .y = x, .padding = torch::ones({2, 3}, torch::kBool)});
  EXPECT_EQ(tests::error_of([&] { distil(*layer, *layer, samples, {}); }), "distil: there is no token to learn from");
}

}  // namespace
}  // namespace primal::train
