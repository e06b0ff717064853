#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "train/epoch_order.h"

namespace primal::train {
namespace {

Evaluation through_json(const Evaluation& before) {
  return nlohmann::json::parse(nlohmann::json(before).dump()).get<Evaluation>();
}

TEST(Evaluation, CountsTruthAgainstPrediction) {
  ClassificationMeter meter(3);
  const std::array<int64_t, 4> truth = {0, 1, 1, 2}, predicted = {0, 1, 2, 2};
  meter.add(truth, predicted, {.loss = 4, .objective = {8.0}});
  meter.add(std::array<int64_t, 1>{0}, std::array<int64_t, 1>{0}, {.loss = 1, .objective = {2.0}});
  const Evaluation result = meter.result();
  EXPECT_EQ(result.confusion, (Confusion{{2, 0, 0}, {0, 1, 1}, {0, 0, 1}}));
  EXPECT_EQ(result.measure, Measure::accuracy);
  EXPECT_DOUBLE_EQ(result.score, 0.8);
  EXPECT_DOUBLE_EQ(result.loss, 1.0);
  EXPECT_EQ(result.objective, std::vector{2.0});
  // F1 of the classes: 1, 2/3, 2/3.
  EXPECT_NEAR(macro_f1_of(result.confusion), 7.0 / 9, 1e-15);
}

TEST(Evaluation, AClassThatNeverOccursDoesNotCount) {
  EXPECT_DOUBLE_EQ(macro_f1_of({{3, 0}, {0, 0}}), 1.0);
  EXPECT_DOUBLE_EQ(accuracy_of({{0, 0}, {0, 0}}), 0.0);
}

TEST(Evaluation, GoesThroughJsonUnchanged) {
  const Evaluation before{.loss = 0.1, .score = 1.0 / 3, .objective = {0.2, -1e-300}, .confusion = {{1, 2}, {3, 4}}};
  const Evaluation after = through_json(before);
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.measure, Measure::accuracy);
  EXPECT_EQ(after.score, before.score);
  EXPECT_EQ(after.objective, before.objective);
  EXPECT_EQ(after.confusion, before.confusion);
  EXPECT_FALSE(after.errors);
}

TEST(Evaluation, OfTargetsGoesThroughJsonUnchanged) {
  RegressionMeter meter;
  meter.add(std::array{1.0, 2.0, 4.0}, std::array{1.1, 2.0, 1.0 / 3}, {.loss = 2, .objective = {}});
  const Evaluation before = meter.result(), after = through_json(before);
  EXPECT_EQ(after.measure, Measure::r2);
  EXPECT_EQ(after.score, before.score);
  ASSERT_TRUE(after.errors);
  EXPECT_EQ(after.errors->root_mean_square, before.errors->root_mean_square);
  EXPECT_EQ(after.errors->mean, before.errors->mean);
  EXPECT_EQ(after.errors->median, before.errors->median);
  EXPECT_EQ(after.errors->cases, 3);
  EXPECT_EQ(after.errors->pairs, before.errors->pairs);
}

TEST(RegressionMeter, MeasuresTheDistanceOfTargets) {
  RegressionMeter meter;
  meter.add(std::array{4.0, 1.0}, std::array{3.0, 1.0}, {.loss = 3, .objective = {4.0}});
  meter.add(std::array{1.0, 2.0}, std::array{1.0, 5.0}, {.loss = 1, .objective = {8.0}});
  const Evaluation result = meter.result();
  EXPECT_DOUBLE_EQ(result.loss, 1);
  EXPECT_EQ(result.objective, std::vector{3.0});
  EXPECT_DOUBLE_EQ(result.score, 1 - 10.0 / 6);  // the mean is 2, its squared error 4 + 1 + 1 + 0
  EXPECT_DOUBLE_EQ(result.errors->root_mean_square, std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(result.errors->mean, 1);
  EXPECT_DOUBLE_EQ(result.errors->median, 0.5) << "between 0 and 1";
  const std::vector<std::pair<double, double>> sorted = {{1, 1}, {1, 1}, {2, 5}, {4, 3}};
  EXPECT_EQ(result.errors->pairs, sorted);
}

TEST(RegressionMeter, OfEqualTargetsIsAllOrNothing) {
  RegressionMeter right, wrong;
  // Their mean, computed, is not exactly 0.1.
  const std::vector<double> truth(20, 0.1);
  std::vector<double> predicted = truth;
  right.add(truth, predicted, {});
  predicted.back() = 0.2;
  wrong.add(truth, predicted, {});
  EXPECT_EQ(right.result().score, 1);
  EXPECT_EQ(wrong.result().score, 0);
}

TEST(RegressionMeter, KeepsThePairsOfManyCasesFew) {
  RegressionMeter meter;
  for (int i = 0; i < 5000; ++i) {
    const double target = (i * 7) % 5000;
    meter.add(std::span(&target, 1), std::span(&target, 1), {});
  }
  const TargetErrors errors = *meter.result().errors;
  EXPECT_EQ(errors.cases, 5000);
  ASSERT_EQ(errors.pairs.size(), 1000u);
  EXPECT_EQ(errors.pairs.front().first, 0) << "both ends are among them";
  EXPECT_EQ(errors.pairs.back().first, 4999);
}

TEST(Measure, IsWrittenAsPeopleReadIt) {
  EXPECT_EQ(format_score(Measure::accuracy, 0.9631), "96.3 %");
  EXPECT_EQ(format_score(Measure::r2, -0.12345), "-0.123");
  EXPECT_EQ(format_score(Measure::r2, -1.319e34), "-1.32e+34");
  EXPECT_FALSE(measure_of_key("rmse"));
  for (const Measure measure : {Measure::accuracy, Measure::r2}) EXPECT_EQ(measure_of_key(key_of(measure)), measure);
}

TEST(EpochOrder, IsAPermutationThatSeedAndEpochDecide) {
  const auto order = epoch_order(100, 1, 0);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 99);
  EXPECT_EQ(order, epoch_order(100, 1, 0));
  EXPECT_NE(order, epoch_order(100, 1, 1));
  EXPECT_NE(order, epoch_order(100, 2, 0));
  // Neighbouring seeds do not run through the same orders one epoch apart.
  EXPECT_NE(epoch_order(100, 1, 1), epoch_order(100, 2, 0));
  EXPECT_TRUE(epoch_order(0, 1, 0).empty());
}

TEST(EpochOrder, PutsEveryExampleFirstEquallyOften) {
  std::array<int, 5> first{};
  for (int64_t epoch = 0; epoch < 5000; ++epoch) ++first[static_cast<size_t>(epoch_order(5, 3, epoch)[0])];
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);  // 5 deviations
}

}  // namespace
}  // namespace primal::train
