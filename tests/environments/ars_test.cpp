#include "environments/ars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "environments/ars_training.h"
#include "environments/toy_player.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::environments;
using primal::base::Random;
using primal::tests::kToyActions;
using primal::tests::kToyStates;
using primal::tests::play_toy;
using primal::tests::toy_options;

using ArsTrainingTest = primal::tests::FolderTest;

Ars toy_search(const ArsOptions& options, uint64_t seed = 1) {
  return Ars(options, seed, kToyStates, kToyActions, play_toy);
}

ArsPlan toy_plan() {
  return {.options = toy_options(), .runs = 3, .first_steps = 1500, .steps = 4000, .every = 2, .episodes = 3};
}

ArsTraining toy_training(uint64_t seed = 1) { return ArsTraining(toy_plan(), seed, kToyStates, kToyActions, play_toy); }

TEST(ArsStep, IsTheFormulaOfThePaper) {
  std::vector<double> weights = {1, 2};
  // Sorted by the larger return: the second, then the third; the first is left out.
  ars_step(weights, {{{9, 9}, 1, 2}, {{1, 0}, 10, 4}, {{0, 1}, 3, 7}}, /*best=*/2, /*step_size=*/0.5);
  const double mean = (10 + 4 + 3 + 7) / 4.0;
  const double sigma =
      std::sqrt((std::pow(10 - mean, 2) + std::pow(4 - mean, 2) + std::pow(3 - mean, 2) + std::pow(7 - mean, 2)) / 4);
  EXPECT_DOUBLE_EQ(weights[0], 1 + 0.5 / (2 * sigma) * (10 - 4));
  EXPECT_DOUBLE_EQ(weights[1], 2 + 0.5 / (2 * sigma) * (3 - 7));
}

TEST(ArsStep, StaysWhereAllReturnsAreTheSame) {
  std::vector<double> weights = {1, 2};
  ars_step(weights, {{{1, 1}, 5, 5}, {{2, 1}, 5, 5}}, 2, 0.5);
  EXPECT_EQ(weights, (std::vector<double>{1, 2}));
}

TEST(ArsStep, ClimbsAToyFunction) {
  std::vector<double> weights = {3, -2};
  Random random(1);
  const auto height = [](double x, double y) { return -(x * x + 2 * y * y); };
  for (int i = 0; i < 300; ++i) {
    std::vector<Trial> trials(4);
    for (Trial& trial : trials) {
      trial.direction = {random.normal(), random.normal()};
      const double dx = 0.05 * trial.direction[0], dy = 0.05 * trial.direction[1];
      trial.forward = height(weights[0] + dx, weights[1] + dy);
      trial.backward = height(weights[0] - dx, weights[1] - dy);
    }
    ars_step(weights, trials, 2, 0.02);
  }
  EXPECT_NEAR(weights[0], 0, 0.1);
  EXPECT_NEAR(weights[1], 0, 0.1);
}

TEST(Ars, LearnsToHoldTheToy) {
  Ars ars = toy_search(toy_options());
  const double before = ars.evaluated(20, 1);
  for (int i = 0; i < 60; ++i) ars.iterate(1);
  EXPECT_GT(ars.evaluated(20, 1), before + 10);
}

TEST(Ars, CountsAllTrialsAndTheirStates) {
  Ars ars = toy_search(toy_options());
  int64_t steps = 0;
  Moments seen(kToyStates);
  for (int i = 0; i < 2; ++i) {
    for (const Rollout& rollout : ars.iterate(1)) {
      steps += rollout.steps();
      seen.add(rollout.seen);
    }
  }
  EXPECT_EQ(ars.state().iteration, 2);
  EXPECT_EQ(ars.state().episodes, 16);
  EXPECT_EQ(ars.state().steps, steps);
  EXPECT_EQ(ars.state().seen, seen);
  EXPECT_EQ(ars.policy().mean, seen.mean);
  EXPECT_EQ(ars.policy().deviation, seen.deviation());
  EXPECT_EQ(ars.policy().noise, 0.05);
}

// A game in which all that counts is to last: its rewards are the survival bonus.
Rollout last_long(const LinearPolicy& policy, Random) {
  Rollout rollout;
  rollout.seen = Moments(1);
  const auto steps = static_cast<size_t>(100 + 50 * std::tanh(policy.weights[0]));
  rollout.rewards.assign(steps, 1);
  rollout.total = static_cast<double>(steps);
  return rollout;
}

TEST(Ars, TakesTheSurvivalBonusOff) {
  ArsOptions options{.directions = 4, .best = 4, .step_size = 0.1, .distance = 0.5};
  const auto weight_after_two = [&] {
    Ars ars(options, 1, 1, 1, last_long);
    ars.iterate(1);
    ars.iterate(1);
    return ars.state().weights[0];
  };
  EXPECT_GT(weight_after_two(), 0);
  options.survival_bonus = 1;
  EXPECT_EQ(weight_after_two(), 0);
  options.survival_bonus = 2;
  EXPECT_LT(weight_after_two(), 0);
  options.adaptive_bonus = true;  // 0 at first, then 0.1, as the trials last 100 of 1000 steps
  EXPECT_GT(weight_after_two(), 0);
}

TEST(Ars, DoesNotDependOnTheNumberOfThreads) {
  Ars one = toy_search(toy_options()), two = toy_search(toy_options()), other = toy_search(toy_options(), 2);
  for (int i = 0; i < 5; ++i) {
    one.iterate(1);
    two.iterate(2);
    other.iterate(1);
  }
  EXPECT_EQ(one.state(), two.state());
  EXPECT_EQ(one.evaluated(5, 1), two.evaluated(5, 2));
  EXPECT_NE(one.state(), other.state());
}

TEST_F(ArsTrainingTest, GoesOnWithTheBestRun) {
  ArsTraining training = toy_training();
  int64_t last = 0;
  const Work work{.threads = 2, .progress = [&](int64_t done, int64_t of) {
                    EXPECT_GE(done, last);
                    EXPECT_LE(done, of);
                    last = done;
                  }};
  ASSERT_TRUE(training.run(folder / "state.json", work));
  EXPECT_GT(last, training.plan().all_steps() * 9 / 10);
  double best = -1e9;
  int64_t best_run = -1, longest_run = -1, longest = 0;
  for (const Snapshot& snapshot : training.snapshots()) {
    if (snapshot.steps <= 1500 && snapshot.evaluated > best) best = snapshot.evaluated, best_run = snapshot.run;
    if (snapshot.steps > longest) longest = snapshot.steps, longest_run = snapshot.run;
  }
  EXPECT_EQ(longest_run, best_run);
  EXPECT_GT(longest, 3600);
}

TEST_F(ArsTrainingTest, InterruptedItGoesOnBitForBit) {
  ArsTraining whole = toy_training();
  ASSERT_TRUE(whole.run(folder / "whole.json", {}));
  const auto file = folder / "state.json";
  bool is_done = false;
  int starts = 0;
  std::vector<Snapshot> snapshots;
  for (; !is_done && starts < 100; ++starts) {
    ArsTraining part = toy_training();
    int iterations = 0;
    is_done = part.run(file, {.threads = 1 + starts % 2, .stop = [&] { return iterations++ == 13; }});
    snapshots = part.snapshots();
  }
  EXPECT_GT(starts, 3);
  EXPECT_EQ(snapshots, whole.snapshots());
}

TEST_F(ArsTrainingTest, TheStateOfAnotherTrainingIsNotTaken) {
  const auto file = folder / "state.json";
  ArsTraining other = toy_training(2);
  int iterations = 0;
  EXPECT_FALSE(other.run(file, {.stop = [&] { return iterations++ == 20; }}));
  ArsTraining whole = toy_training(), after = toy_training();
  ASSERT_TRUE(whole.run(folder / "none.json", {}));
  ASSERT_TRUE(after.run(file, {}));
  EXPECT_EQ(after.snapshots(), whole.snapshots());
}

TEST_F(ArsTrainingTest, ADamagedStateIsNamed) {
  const auto file = write("state.json", "{\"training\": ");
  ArsTraining training = toy_training();
  EXPECT_TRUE(primal::tests::contains(primal::tests::error_of([&] { training.run(file, {}); }), "state.json"));
}

}  // namespace
