// Every failure signature, on both sides of its threshold.
#include "analysis/findings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analysis/finding_rules.h"

namespace {

using primal::analysis::Finding;
using primal::analysis::findings;
using primal::analysis::LayerFacts;
using primal::analysis::RunFacts;
using primal::analysis::Severity;

bool has(const RunFacts& facts, const std::string& title) {
  for (const Finding& finding : findings(facts)) {
    EXPECT_FALSE(finding.text.empty());
    EXPECT_FALSE(finding.advice.empty());
    if (finding.title.find(title) != std::string::npos) return true;
  }
  return false;
}

LayerFacts healthy_layer() {
  LayerFacts layer;
  layer.name = "layer 1";
  layer.rank = 40;
  layer.rows = 100;
  layer.tokens = 100;
  layer.heads = 1;
  layer.lambda = {std::vector<double>(40, 0.3)};
  layer.effective_rank_e = 20;
  layer.effective_rank_r = 18;
  return layer;
}

/// 20 epochs that learn, and one layer.
RunFacts healthy() {
  RunFacts facts;
  facts.eta = 0.1;
  facts.evaluation_split = "validation";
  for (int epoch = 1; epoch <= 20; ++epoch) {
    facts.task_loss.push_back(2 * std::pow(0.9, epoch));
    facts.score.push_back(0.5 + 0.02 * epoch);
    facts.ksvd.push_back(0.1 * std::pow(0.8, epoch));
    facts.objective.push_back({0.3});
    facts.step.push_back(7 * epoch);
    facts.epoch.push_back(epoch);
    facts.evaluation_step.push_back(7 * epoch);
    facts.evaluation_loss.push_back(2.1 * std::pow(0.95, epoch));
    facts.evaluation_score.push_back(0.8);
  }
  facts.test_score = 0.8;
  facts.test_cases = {50, 50};
  facts.layers = {healthy_layer()};
  return facts;
}

TEST(Findings, AHealthyRunHasNone) { EXPECT_TRUE(findings(healthy()).empty()); }

TEST(Findings, NothingKnownGivesNothing) { EXPECT_TRUE(findings(RunFacts()).empty()); }

TEST(Findings, LossNotFinite) {
  RunFacts facts = healthy();
  facts.task_loss[3] = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(has(facts, "not a finite number"));
  EXPECT_NE(findings(facts)[0].text.find("epoch 4 "), std::string::npos);
  facts.task_loss[3] = std::nan("");
  EXPECT_TRUE(has(facts, "not a finite number"));
}

TEST(Findings, ARunThatGaveUp) {
  RunFacts facts = healthy();
  facts.failure = "the loss became NaN at step 2; try a smaller optimizer.lr";
  ASSERT_TRUE(has(facts, "The run gave up"));
  EXPECT_EQ(findings(facts)[0].text, "It stopped: the loss became NaN at step 2.");
  EXPECT_EQ(findings(facts)[0].advice, "You could try a smaller optimizer.lr, and look for huge values in the data.");
}

TEST(Findings, AccuracyAtChance) {
  RunFacts facts = healthy();  // chance 0.5, standard error 0.05: up to 0.6 is noise
  facts.test_score = 0.59;
  EXPECT_TRUE(has(facts, "at chance"));
  facts.test_score = 0.61;
  EXPECT_FALSE(has(facts, "at chance"));
  facts.test_cases = {80, 20};  // 0.8 + 0.08
  facts.test_score = 0.87;
  EXPECT_TRUE(has(facts, "at chance")) << "the most frequent class counts, not the number of classes";
  facts.test_cases = {};
  EXPECT_FALSE(has(facts, "at chance")) << "nothing is known of the classes";
}

TEST(Findings, NoBetterThanTheMean) {
  RunFacts facts = healthy();
  facts.test_cases = {};
  facts.test_score = -0.1;
  EXPECT_FALSE(has(facts, "No better than the mean")) << "an accuracy is no R2";
  facts.metric = primal::run::r2_metric();
  facts.score = {0.1, 0.9};
  ASSERT_TRUE(has(facts, "No better than the mean"));
  EXPECT_EQ(findings(facts)[0].text,
            "Test R2 -0.100; always answering the mean gives 0. The best training R2 is 0.900.");
  EXPECT_EQ(findings(facts)[0].advice.substr(0, 36), "The model learns its training data b");
  facts.score = {0.1, 0.1};
  EXPECT_EQ(findings(facts)[0].advice.substr(0, 24), "The model does not learn");
  facts.test_score = 0.01;
  EXPECT_FALSE(has(facts, "No better than the mean"));
}

/// The KSVD term falls and the task stands still for ten epochs.
RunFacts held_back() {
  RunFacts facts = healthy();
  facts.eta = 5;
  for (double& loss : facts.task_loss) loss = 1;
  for (double& accuracy : facts.score) accuracy = 0.6;
  return facts;
}

TEST(Findings, EtaTooLarge) { EXPECT_TRUE(has(held_back(), "eta is too large")); }

TEST(Findings, EtaIsNotBlamedForATermTooSmallToMatter) {
  RunFacts facts = held_back();
  const double first = facts.ksvd[0];
  facts.eta = 0.101 / first;  // times J^2: just above a tenth of the task loss of 1
  EXPECT_TRUE(has(facts, "eta is too large"));
  facts.eta = 0.099 / first;
  EXPECT_FALSE(has(facts, "eta is too large"));
}

TEST(Findings, EtaIsNotBlamedWhenTheTaskImproves) {
  RunFacts facts = held_back();
  for (std::size_t i = 0; i < 20; ++i)
    facts.task_loss[i] = std::pow(0.997, static_cast<double>(i));  // 2.7 % in 9 epochs
  EXPECT_FALSE(has(facts, "eta is too large"));
  facts = held_back();
  facts.task_loss.back() = 0.89;
  EXPECT_FALSE(has(facts, "eta is too large")) << "a slow start that was made up for";
  facts.task_loss.back() = 0.91;
  EXPECT_TRUE(has(facts, "eta is too large"));
}

TEST(Findings, EtaIsNotBlamedWhenJStaysOrTheTaskIsSolved) {
  RunFacts facts = held_back();
  for (double& ksvd : facts.ksvd) ksvd = 0.1;
  EXPECT_FALSE(has(facts, "eta is too large"));
  facts = held_back();
  facts.score.back() = 0.96;
  EXPECT_FALSE(has(facts, "eta is too large"));
  facts = held_back();
  facts.eta = 0;
  EXPECT_FALSE(has(facts, "eta is too large"));
  facts = held_back();
  facts.task_loss.resize(9);
  EXPECT_FALSE(has(facts, "eta is too large")) << "shorter than the window";
}

/// The evaluation loss is lowest at `best` and ends `rise` times higher.
RunFacts overfitted(std::size_t best, double rise) {
  RunFacts facts = healthy();
  for (std::size_t i = 0; i < 20; ++i) facts.evaluation_loss[i] = i + 1 == best ? 1 : rise;
  return facts;
}

TEST(Findings, Overfitting) {
  EXPECT_TRUE(has(overfitted(5, 1.21), "overfits"));
  EXPECT_FALSE(has(overfitted(5, 1.19), "overfits"));
  EXPECT_TRUE(has(overfitted(10, 1.5), "overfits"));
  EXPECT_FALSE(has(overfitted(11, 1.5), "overfits")) << "the best epoch is late";
  RunFacts facts = overfitted(5, 1.5);
  facts.task_loss.assign(20, 1.0);
  EXPECT_FALSE(has(facts, "overfits")) << "the training loss does not fall either";
  facts = overfitted(1, 1.5);
  facts.evaluation_loss.resize(4);
  facts.evaluation_step.resize(4);
  EXPECT_FALSE(has(facts, "overfits")) << "too few evaluations";
  facts = overfitted(5, 1.5);
  for (double& loss : facts.evaluation_loss) loss *= 0.006;
  EXPECT_FALSE(has(facts, "overfits")) << "a loss of next to nothing";
}

TEST(Findings, CollapsedLambda) {
  RunFacts facts = healthy();
  facts.layers[0].lambda = {std::vector<double>(40, 9e-4)};
  facts.objective.back() = {-9e-4};
  ASSERT_TRUE(has(facts, "Lambda has collapsed"));
  EXPECT_EQ(findings(facts)[0].title, "layer 1: Lambda has collapsed");
  facts.layers[0].lambda[0][7] = 1.1e-3;
  EXPECT_FALSE(has(facts, "Lambda has collapsed")) << "one weight is left";
  facts.layers[0].lambda[0][7] = 0;
  facts.objective.back() = {1.1e-3};
  EXPECT_FALSE(has(facts, "Lambda has collapsed")) << "J is not zero";
  facts.objective.back() = {0};
  facts.eta = 0;
  EXPECT_FALSE(has(facts, "Lambda has collapsed")) << "without the KSVD term Lambda means nothing";
}

TEST(Findings, FewerRowsThanTheRank) {
  RunFacts facts = healthy();
  facts.layers[0].rows = 39;
  EXPECT_TRUE(has(facts, "fewer sampled rows"));
  facts.layers[0].rows = 40;
  EXPECT_FALSE(has(facts, "fewer sampled rows"));
  facts.layers[0].rows = 0;
  EXPECT_FALSE(has(facts, "fewer sampled rows")) << "data-independent weights sample none";
}

TEST(Findings, RankTooSmall) {
  RunFacts facts = healthy();
  facts.layers[0].effective_rank_r = 36.1;
  EXPECT_TRUE(has(facts, "too small"));
  facts.layers[0].effective_rank_r = 35.9;
  EXPECT_FALSE(has(facts, "too small"));
}

TEST(Findings, RankWasted) {
  RunFacts facts = healthy();
  facts.layers[0].effective_rank_e = 9.9;
  facts.layers[0].effective_rank_r = 5;
  EXPECT_TRUE(has(facts, "unused"));
  facts.layers[0].effective_rank_e = 10.1;
  EXPECT_FALSE(has(facts, "unused"));
}

TEST(Findings, LayersWithTheSameFindingAreNamedTogether) {
  RunFacts facts = healthy();
  facts.layers[0].rows = 20;
  facts.layers.push_back(facts.layers[0]);
  facts.layers[1].name = "layer 2";
  ASSERT_EQ(findings(facts).size(), 1u);
  EXPECT_EQ(findings(facts)[0].title, "layer 1, layer 2: fewer sampled rows than the rank");
}

TEST(Findings, WarningsComeFirst) {
  RunFacts facts = healthy();
  facts.layers.push_back(healthy_layer());
  facts.layers[0].effective_rank_e = 39;
  facts.layers[1].rows = 20;
  const auto found = findings(facts);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_EQ(found[1].severity, Severity::note);
}

}  // namespace
