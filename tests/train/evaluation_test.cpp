#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "train/epoch_order.h"

namespace primal::train {
namespace {

TEST(Evaluation, CountsTruthAgainstPrediction) {
  ClassificationMeter meter(3);
  const std::array<int64_t, 4> truth = {0, 1, 1, 2}, predicted = {0, 1, 2, 2};
  meter.add(truth, predicted, /*loss_sum=*/4, std::array{8.0});
  meter.add(std::array<int64_t, 1>{0}, std::array<int64_t, 1>{0}, 1, std::array{2.0});
  const Evaluation result = meter.result();
  EXPECT_EQ(result.confusion, (Confusion{{2, 0, 0}, {0, 1, 1}, {0, 0, 1}}));
  EXPECT_DOUBLE_EQ(result.accuracy, 0.8);
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
  const Evaluation before{0.1, 1.0 / 3, {0.2, -1e-300}, {{1, 2}, {3, 4}}};
  const Evaluation after = nlohmann::json::parse(nlohmann::json(before).dump()).get<Evaluation>();
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.accuracy, before.accuracy);
  EXPECT_EQ(after.objective, before.objective);
  EXPECT_EQ(after.confusion, before.confusion);
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
