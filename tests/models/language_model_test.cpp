#include "models/language_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/small_language_model.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

using tests::close;
using tests::error_of;
using tests::random_tokens;
using tests::small_language_model;
using tests::SmallLanguage;

class LanguageModelForms : public testing::TestWithParam<SmallLanguage> {};

TEST_P(LanguageModelForms, StepsAreTheFullPassHoweverTheTokensAreCut) {
  const torch::NoGradGuard no_grad;
  LanguageModel model = small_language_model(GetParam());
  const torch::Tensor ids = random_tokens(2, 20);
  const torch::Tensor whole = model->forward(ids).out;
  for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{20}, {1, 19}, {7, 6, 7}, std::vector<int64_t>(20, 1)}) {
    LanguageState state = model->initial_state(2);
    std::vector<torch::Tensor> parts;
    for (const torch::Tensor& part : ids.split_with_sizes(cuts, 1)) parts.push_back(model->step(part, state));
    EXPECT_EQ(state.position, 20);
    EXPECT_TRUE(close(at::cat(parts, 1), whole, 1e-5)) << cuts.size() << " parts";
  }
}

TEST_P(LanguageModelForms, NoTokenKnowsLaterOnes) {
  const torch::NoGradGuard no_grad;
  LanguageModel model = small_language_model(GetParam());
  const torch::Tensor ids = random_tokens(2, 20);
  torch::Tensor other = ids.clone();
  other.narrow(1, 12, 8).copy_((other.narrow(1, 12, 8) + 1).remainder(19));
  const torch::Tensor a = model->forward(ids).out, b = model->forward(other).out;
  EXPECT_TRUE(close(a.narrow(1, 0, 12), b.narrow(1, 0, 12), 1e-6));
  EXPECT_FALSE(close(a.narrow(1, 12, 8), b.narrow(1, 12, 8), 1e-3));
}

TEST_P(LanguageModelForms, LossIsTheCrossEntropyOfTheLogits) {
  LanguageModel model = small_language_model(GetParam());
  const torch::Tensor ids = random_tokens(2, 20), targets = random_tokens(2, 20);
  const torch::Tensor features = model->forward(ids).out;
  const torch::Tensor logits = model->logits(features).view({-1, 19});
  for (const double smoothing : {0.0, 0.1}) {
    if (smoothing != 0 && !GetParam().cutoffs.empty()) continue;
    const LanguageLoss loss = model->loss(features, targets, smoothing);
    EXPECT_TRUE(close(
        loss.sum, at::cross_entropy_loss(logits, targets.view({-1}), {}, at::Reduction::Sum, -100, smoothing), 1e-5));
    EXPECT_TRUE(
        close(loss.nll.view({-1}), at::cross_entropy_loss(logits, targets.view({-1}), {}, at::Reduction::None), 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LanguageModelForms,
    testing::Values(SmallLanguage{}, SmallLanguage{.kinds = {"primal", "primal"}},
                    SmallLanguage{.kinds = {"primal", "primal"}, .memory = Memory::decay},
                    SmallLanguage{.kinds = {"primal", "primal"}, .memory = Memory::decay, .kernel = 3},
                    SmallLanguage{.kinds = {"softmax"}, .kernel = 3}, SmallLanguage{.positions = Positions::learnt},
                    SmallLanguage{.positions = Positions::none}, SmallLanguage{.cutoffs = {7}},
                    SmallLanguage{.cutoffs = {5, 11, 18}},
                    SmallLanguage{.kinds = {"linear", "cosformer", "window", "flow", "performer"}}));

TEST(LanguageModel, PaddingOnTheRightChangesNoToken) {
  const torch::NoGradGuard no_grad;
  LanguageModel model = small_language_model({.padding = 1});
  const torch::Tensor ids = random_tokens(2, 12, 19, /*lowest=*/2);
  const torch::Tensor padded = at::cat({ids, at::full({2, 5}, 1, at::kLong)}, 1);
  EXPECT_TRUE(close(model->forward(padded).out.narrow(1, 0, 12), model->forward(ids).out, 1e-5));
}

TEST(LanguageModel, PaddingCountsNeitherInTheLossNorInTheGradientOfItsRow) {
  LanguageModel model = small_language_model({.padding = 1});
  torch::Tensor targets = random_tokens(1, 6, 19, /*lowest=*/2);
  const torch::Tensor ids = random_tokens(1, 6, 19, /*lowest=*/2);
  const torch::Tensor features = model->forward(ids).out;
  const torch::Tensor all = model->loss(features, targets).nll;
  targets[0][5] = 1;
  const LanguageLoss loss = model->loss(features, targets);
  EXPECT_EQ(loss.nll[0][5].item<double>(), 0);
  EXPECT_TRUE(close(loss.sum, all.narrow(1, 0, 5).sum(), 1e-5));
}

TEST(LanguageModel, PositionsAreSinesThenCosinesFromTwoOn) {
  const torch::Tensor rows = sinusoids(/*first=*/3, /*count=*/2, /*width=*/7, torch::kFloat64);
  ASSERT_EQ(rows.sizes(), (std::vector<int64_t>{2, 7}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      const double angle = (5.0 + static_cast<double>(i)) * std::pow(10000.0, -static_cast<double>(k) / 2);
      EXPECT_NEAR(rows[i][k].item<double>(), std::sin(angle), 1e-12);
      EXPECT_NEAR(rows[i][k + 3].item<double>(), std::cos(angle), 1e-12);
    }
    EXPECT_EQ(rows[i][6].item<double>(), 0);
  }
}

TEST(LanguageModel, SaysHowLongASequenceMayBe) {
  EXPECT_EQ(small_language_model()->most_tokens(), std::nullopt);
  EXPECT_EQ(small_language_model({.positions = Positions::learnt})->most_tokens(), 24);
  EXPECT_EQ(small_language_model({.kinds = {"primal", "cosformer"}})->most_tokens(), 24);
}

TEST(LanguageModel, MayBeginAsPublished) {
  LanguageModelOptions options = small_language_model({.kinds = {"softmax"}})->options();
  options.attention_init = AttentionInit::xavier;
  const LanguageModel model(options);
  const double most = std::sqrt(3.0 / 16);  // gain sqrt(6 / (16 + 16)), of the inputs divided by sqrt(2)
  for (const auto& item : model->named_parameters()) {
    const auto is = [&](const char* name) { return item.key().ends_with(name); };
    const double largest = item.value().abs().max().item<double>();
    if (is("q_proj.weight") || is("k_proj.weight") || is("v_proj.weight")) {
      EXPECT_NEAR(largest, most / std::sqrt(2), 0.03);
    } else if (is("out_proj.weight")) {
      EXPECT_NEAR(largest, most, 0.03);
    } else if (is("out_proj.bias")) {
      EXPECT_EQ(largest, 0);
    }
  }
}

TEST(LanguageModel, LearntPositionsEndWithTheirTable) {
  LanguageModel model = small_language_model({.positions = Positions::learnt});
  EXPECT_EQ(error_of([&] { model->forward(random_tokens(1, 25)); }),
            "language_model: positions are learnt for 24 tokens, asked for 25");
}

TEST(LanguageModel, AnAdaptiveVocabularyGivesProbabilitiesAndItsGradientsAreThoseOfTheLogits) {
  LanguageModel model = small_language_model({.cutoffs = {5, 11}});
  const torch::Tensor ids = random_tokens(2, 20), targets = random_tokens(2, 20);
  const torch::Tensor log_p = model->logits(model->forward(ids).out);
  EXPECT_TRUE(close(log_p.exp().sum(-1), at::ones({2, 20}), 1e-5));
  const auto gradients = [&](const torch::Tensor& loss) {
    model->zero_grad();
    loss.backward();
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
    return all;
  };
  const auto expected = gradients(-log_p.gather(-1, targets.unsqueeze(-1)).sum());
  const auto actual = gradients(model->loss(model->forward(ids).out, targets).sum);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-4)) << i;
}

TEST(LanguageModel, AnAdaptiveVocabularyHasNarrowerVectorsForRareIds) {
  const LanguageModel model = small_language_model({.cutoffs = {5, 11}});
  EXPECT_EQ(model->tokens->weight.sizes(), (std::vector<int64_t>{5, 16}));
  EXPECT_EQ(model->tails->tables[0].sizes(), (std::vector<int64_t>{6, 8}));
  EXPECT_EQ(model->tails->tables[1].sizes(), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(error_of([] {
              small_language_model({.cutoffs = {5, 5}});
            }),
            "adaptive vocabulary: expected rising cutoffs between 0 and 19, got [5, 5]");
  EXPECT_EQ(error_of([] { small_language_model({.padding = 6, .cutoffs = {5}}); }),
            "language_model: padding is id 6, the first cutoff 5");
}

TEST(LanguageModel, RefusesWhatItCannotBe) {
  LanguageModelOptions options = small_language_model()->options();
  options.layers[0].attention.causal = false;
  EXPECT_EQ(error_of([&] { LanguageModel{options}; }), "language_model: every layer must be causal");
  options = small_language_model()->options();
  options.padding = 19;
  EXPECT_EQ(error_of([&] { LanguageModel{options}; }), "language_model: padding is id 19 of 19");
  EXPECT_EQ(error_of([] {
              small_language_model()->forward(torch::zeros({2, 3}));
            }),
            "language_model: expected ids [B, N] int64, got [2, 3] Float");
}

}  // namespace
}  // namespace primal::models
