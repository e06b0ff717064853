#include "train/meters.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "run/target_errors.h"

namespace primal::train {
namespace {

using run::Evaluation;

TEST(ClassificationMeter, CountsTruthAgainstPrediction) {
  ClassificationMeter meter({"a", "b", "c"});
  const std::array<int64_t, 4> truth = {0, 1, 1, 2}, predicted = {0, 1, 2, 2};
  meter.add(truth, predicted, {.loss = 4, .objective = {8.0}});
  meter.add(std::array<int64_t, 1>{0}, std::array<int64_t, 1>{0}, {.loss = 1, .objective = {2.0}});
  const Evaluation result = meter.result();
  const auto details = run::class_details(result).value();
  EXPECT_EQ(details.confusion, (run::Confusion{{2, 0, 0}, {0, 1, 1}, {0, 0, 1}}));
  EXPECT_EQ(details.classes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_DOUBLE_EQ(result.score, 0.8);
  EXPECT_DOUBLE_EQ(result.loss.value(), 1.0);
  EXPECT_EQ(result.objective, std::vector{2.0});
  EXPECT_NEAR(result.also.at("macro_f1"), 7.0 / 9, 1e-15);  // F1 of the classes: 1, 2/3, 2/3
}

TEST(RegressionMeter, MeasuresTheDistanceOfTargets) {
  RegressionMeter meter;
  meter.add(std::array{4.0, 1.0}, std::array{3.0, 1.0}, {.loss = 3, .objective = {4.0}});
  meter.add(std::array{1.0, 2.0}, std::array{1.0, 5.0}, {.loss = 1, .objective = {8.0}});
  const Evaluation result = meter.result();
  const run::TargetErrors errors = run::target_errors(result).value();
  EXPECT_DOUBLE_EQ(result.loss.value(), 1);
  EXPECT_EQ(result.objective, std::vector{3.0});
  EXPECT_DOUBLE_EQ(result.score, 1 - 10.0 / 6);  // the mean is 2, its squared error 4 + 1 + 1 + 0
  EXPECT_DOUBLE_EQ(errors.root_mean_square, std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(errors.mean, 1);
  EXPECT_DOUBLE_EQ(errors.median, 0.5) << "between 0 and 1";
  const std::vector<std::pair<double, double>> sorted = {{1, 1}, {1, 1}, {2, 5}, {4, 3}};
  EXPECT_EQ(errors.pairs, sorted);
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
  const run::TargetErrors errors = run::target_errors(meter.result()).value();
  EXPECT_EQ(errors.cases, 5000);
  ASSERT_EQ(errors.pairs.size(), 1000u);
  EXPECT_EQ(errors.pairs.front().first, 0) << "both ends are among them";
  EXPECT_EQ(errors.pairs.back().first, 4999);
}

}  // namespace
}  // namespace primal::train
