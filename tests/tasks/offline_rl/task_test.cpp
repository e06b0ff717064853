// Offline reinforcement learning as a task: batches and losses, what is held out, and what judges.
#include "tasks/offline_rl/task.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "models/behaviour_cloning.h"
#include "support/tensors.h"
#include "tasks/offline_rl/offline_task.h"

namespace primal::tasks {
namespace {

using tests::close;
using tests::decision_of;
using tests::offline_batch;
using tests::OfflineTaskTest;
using tests::plain_action_error;
using torch::Tensor;

std::vector<Tensor> taken_gradients(OfflineRlTask& task) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : task.model().parameters()) gradients.push_back(parameter.grad().clone());
  task.model().zero_grad();
  return gradients;
}

TEST_F(OfflineTaskTest, ABatchIsTheSameWheneverItIsMade) {
  OfflineRlTask task = opened();
  const double first = task.loss(*offline_batch(task, {0, 3, 5})).task;
  EXPECT_EQ(task.loss(*task.batch({0, 3, 5}, base::Random(99))).task, first) << "there is no chance in it";
  EXPECT_NE(task.loss(*offline_batch(task, {0, 3, 6})).task, first);
}

TEST_F(OfflineTaskTest, ABatchWeighsItsRealSteps) {
  OfflineRlTask task = opened();
  for (const std::vector<int64_t>& rows : {std::vector<int64_t>{0}, {1, 2, 3}, {task.examples() - 1, 0, 0}}) {
    EXPECT_EQ(offline_batch(task, rows)->weight, real_steps(windows_of(task, rows)));
  }
  EXPECT_EQ(offline_batch(task, {task.examples() - 1})->weight, 1) << "the last step of an episode";
}

TEST_F(OfflineTaskTest, TheLossIsTheMeanErrorOfRealStepsAndTheKsvdTerm) {
  config.model.layers = {"primal", "primal"};
  config.loss.eta = 0.3;
  OfflineRlTask task = opened();
  const std::vector<int64_t> rows = {0, 7, task.examples() - 2, task.examples() - 1};
  const models::DecisionWindows windows = windows_of(task, rows);
  ASSERT_TRUE(windows.padding);
  const models::DecisionOutput output = decision_of(task).forward(windows);
  const double squares =
      (output.terms[0].objective().square().mean() + output.terms[1].objective().square().mean()).item<double>() / 2;

  const train::BatchLoss loss = task.loss(*offline_batch(task, rows));
  EXPECT_NEAR(loss.task, plain_action_error(output.actions, windows), 1e-6);
  EXPECT_NEAR(loss.ksvd, 0.3 * squares, 1e-6);
  EXPECT_NEAR(loss.total.item<double>(), loss.task + loss.ksvd, 1e-6);
  ASSERT_EQ(loss.objective.size(), 2U);
  EXPECT_NEAR(loss.objective[1], output.terms[1].objective().mean().item<double>(), 1e-6);
  EXPECT_EQ(loss.tokens, 4 * 4 * 3);
  EXPECT_NEAR(*loss.score, loss.task * static_cast<double>(real_steps(windows)), 1e-4) << "a sum over the weight";
}

TEST_F(OfflineTaskTest, TheLossOfCloningIsTheMeanErrorToo) {
  config.model.agent = Agent::behaviour_cloning;
  config.loss.eta = 0.3;
  OfflineRlTask task = opened();
  const std::vector<int64_t> rows = {0, 7, task.examples() - 1};
  const models::DecisionWindows windows = windows_of(task, rows);
  const Tensor actions =
      dynamic_cast<models::BehaviourCloningImpl&>(task.model()).forward(windows.states, windows.padding);
  const train::BatchLoss loss = task.loss(*offline_batch(task, rows));
  EXPECT_NEAR(loss.task, plain_action_error(actions, windows), 1e-6);
  EXPECT_NEAR(loss.total.item<double>(), loss.task, 1e-6) << "there is no primal layer";
  EXPECT_TRUE(loss.objective.empty());
  EXPECT_EQ(loss.tokens, 3 * 4);
}

TEST_F(OfflineTaskTest, SmallBatchesMakeTheGradientOfALargeOne) {
  for (const bool is_cloning : {false, true}) {
    SCOPED_TRACE(is_cloning);
    if (is_cloning) config.model.agent = Agent::behaviour_cloning;
    OfflineRlTask task = opened();
    const int64_t last = task.examples() - 1;
    const std::vector<std::vector<int64_t>> small = {{0, last, last - 1}, {3, 9, 10}};
    auto large = offline_batch(task, {0, last, last - 1, 3, 9, 10});
    const auto weight = static_cast<double>(large->weight);
    train::BatchLoss whole = task.loss(*large);
    whole.total.backward();
    const std::vector<Tensor> expected = taken_gradients(task);

    double sum = 0, weights = 0;
    for (const std::vector<int64_t>& rows : small) {
      auto batch = offline_batch(task, rows);
      const train::BatchLoss loss = task.loss(*batch);
      const double share = static_cast<double>(batch->weight) / weight;
      (loss.total * share).backward();
      sum += share * loss.task;
      weights += share;
    }
    const std::vector<Tensor> actual = taken_gradients(task);
    EXPECT_NEAR(weights, 1, 1e-12);
    EXPECT_NEAR(sum, whole.task, 1e-6);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(close(actual[i], expected[i], 1e-5)) << i;
  }
}

TEST_F(OfflineTaskTest, SmallBatchesOfFullWindowsMakeTheKsvdTermOfALargeOne) {
  config.loss.eta = 0.5;
  OfflineRlTask task = opened();
  std::vector<int64_t> full;
  for (int64_t row = 0; std::ssize(full) < 6; ++row) {
    if (offline_batch(task, {row})->weight == config.model.steps) full.push_back(row);
  }
  const double whole = task.loss(*offline_batch(task, full)).ksvd;
  const double first = task.loss(*offline_batch(task, {full[0], full[1]})).ksvd;
  const double second = task.loss(*offline_batch(task, {full[2], full[3], full[4], full[5]})).ksvd;
  EXPECT_NEAR((first + 2 * second) / 3, whole, 1e-6);
}

TEST_F(OfflineTaskTest, WhatStandsInPaddingIsNotFelt) {
  OfflineRlTask task = opened();
  const int64_t last = task.examples() - 1;
  task.loss(*offline_batch(task, {last})).total.backward();  // a single step, three of padding
  const std::vector<Tensor> padded = taken_gradients(task);
  config.model.steps = 1;
  OfflineRlTask tight = opened();
  torch::NoGradGuard no_grad;
  const auto from = task.model().parameters(), to = tight.model().parameters();
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  torch::AutoGradMode with_gradients(true);
  tight.loss(*offline_batch(tight, {last})).total.backward();
  const std::vector<Tensor> expected = taken_gradients(tight);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(close(padded[i], expected[i], 1e-5)) << i;
}

TEST_F(OfflineTaskTest, EpisodesWithoutARobotAreJudgedByThoseHeldOut) {
  const OfflineRlTask task = opened();
  EXPECT_EQ(task.metric().key, "action_error");
  EXPECT_TRUE(task.metric().lower_is_better);
  EXPECT_TRUE(task.has(Part::validation));
  EXPECT_FALSE(task.has(Part::test));
  EXPECT_EQ(parts(task).second.size(), 2U);
  EXPECT_EQ(task.description(), "mine: 4 episodes, " + std::to_string(task.examples()) + " steps; 2 episodes held out");
}

TEST_F(OfflineTaskTest, EverySeedHoldsOutTheSame) {
  const int64_t first = opened().examples();
  config.train.seed = 2;
  EXPECT_EQ(opened().examples(), first);
  config.data.validation = 0;
  EXPECT_EQ(parts(opened()).second.size(), 1U) << "at least one";
}

TEST_F(OfflineTaskTest, OnlyTheBestEpisodesAreLearntFromAndJudgedBy) {
  for (float& reward : all.rewards) reward = 1;  // the longest earn most
  config.data.train = written("equal.hdf5", all).string();
  config.data.best_share = 0.5;
  const OfflineRlTask task = opened();
  EXPECT_EQ(task.examples() & (1 + 2 + 4), 0);
  const auto [in, out] = parts(task);
  EXPECT_EQ(in.size(), 2U);
}

TEST_F(OfflineTaskTest, TheEvaluationIsTheErrorOfAllStepsHeldOut) {
  for (const bool is_cloning : {false, true}) {
    if (is_cloning) config.model.agent = Agent::behaviour_cloning;
    OfflineRlTask task = opened();
    task.model().eval();
    const torch::NoGradGuard no_grad;
    double sum = 0;
    int64_t steps = 0;
    for (const int64_t number : parts(task).second) {
      const Episodes one = episodes_of(task, {number});
      for (int64_t row = 0; row < one.rows(); row += config.model.steps) {
        const models::DecisionWindows window = one.windows(std::vector{one.from(row, 4)}, 4);
        const Tensor actions =
            is_cloning
                ? dynamic_cast<models::BehaviourCloningImpl&>(task.model()).forward(window.states, window.padding)
                : decision_of(task).forward(window).actions;
        sum += plain_action_error(actions, window) * static_cast<double>(real_steps(window));
        steps += real_steps(window);
      }
    }
    const Evaluation evaluation = task.evaluate(Part::validation);
    EXPECT_NEAR(evaluation.score, sum / static_cast<double>(steps), 1e-6);
    EXPECT_EQ(evaluation.loss, evaluation.score);
    EXPECT_TRUE(evaluation.also.empty());
  }
}

TEST_F(OfflineTaskTest, TheFirstWeightsAreAMatterOfTheSeedAlone) {
  const auto weights = [&] { return opened().model().parameters()[0].clone(); };
  const Tensor first = weights();
  torch::rand({7});
  config.data.validation = 0.5;
  EXPECT_TRUE(at::equal(weights(), first));
  config.train.seed = 2;
  EXPECT_FALSE(at::equal(weights(), first));
}

// Called while a run trains: the course of the run must not feel it.
TEST_F(OfflineTaskTest, ALookAtTheModelDrawsNoRandomNumbers) {
  OfflineRlTask task = opened();
  task.model().eval();
  torch::manual_seed(3);
  const Tensor expected = torch::rand({2});
  torch::manual_seed(3);
  task.forward({.part = Part::train});
  task.forward({.part = Part::validation, .examples = 1000, .tokens = 30});
  task.forward({.file = folder / "mine.hdf5"});
  EXPECT_TRUE(at::equal(torch::rand({2}), expected));
}

}  // namespace
}  // namespace primal::tasks
