// Agents of a robot as a task: playing judges them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "environments/environment.h"
#include "run/rollout_details.h"
#include "support/errors.h"
#include "tasks/offline_rl/offline_task.h"

namespace primal::tasks {
namespace {

using tests::contains;
using tests::error_of;
using tests::kOfflineLengths;
using tests::offline_batch;
using tests::random_episodes;

/// The same episodes as those of a robot, which plays.
class HopperTaskTest : public tests::OfflineTaskTest {
 protected:
  void SetUp() override {
    tests::OfflineTaskTest::SetUp();
    if (IsSkipped()) return;
    if (!environments::has_simulator()) GTEST_SKIP() << "built without MuJoCo";
    all = random_episodes(kOfflineLengths);
    config.data.train = written("hopper.hdf5", all).string();
    config.data.robot = "auto";
    config.eval.targets = {100, 50};
  }
};

TEST_F(HopperTaskTest, AllEpisodesAreLearntFromAndPlayingJudges) {
  OfflineRlTask task = opened();
  EXPECT_EQ(task.examples(), 63);
  EXPECT_EQ(task.metric().key, "normalised_score");
  EXPECT_FALSE(task.metric().lower_is_better);
  EXPECT_TRUE(task.has(Part::test));
  EXPECT_FALSE(task.loss(*offline_batch(task, {0, 1})).score) << "a return is no mean over steps";
  EXPECT_TRUE(contains(task.description(), "hopper: 6 episodes, 63 steps, returns "));
  EXPECT_TRUE(contains(task.description(), "; asked for 100 and 50"));
}

TEST_F(HopperTaskTest, WhileTrainingFewEpisodesArePlayedAndInTheEndOthers) {
  OfflineRlTask task = opened();
  task.model().eval();
  const Evaluation quick = task.evaluate(Part::validation), whole = task.evaluate(Part::test);
  EXPECT_FALSE(quick.loss);
  EXPECT_TRUE(run::rollout_details(quick).robot.empty()) << "details only in the end";
  const run::RolloutDetails details = run::rollout_details(whole);
  ASSERT_EQ(details.targets.size(), 2U);
  EXPECT_EQ(details.targets[0].returns.size(), 3U);
  EXPECT_EQ(details.animations.size(), 3U);
  EXPECT_EQ(quick.score, task.evaluate(Part::validation).score) << "the same starts each time";
  EXPECT_NE(quick.also.at("return_at_100"), whole.also.at("return_at_100"));
  config.train.seed = 2;
  EXPECT_TRUE(
      contains(task.describe({.part = Part::test}), "hopper: 3 episodes of each target, returns normalised by D4RL"));
  EXPECT_TRUE(contains(task.describe({.part = Part::validation}), "hopper: 2 episodes of each target"));
}

TEST_F(HopperTaskTest, TheScoreIsOfTheFirstTargetOrTheBest) {
  config.eval.targets = {-500, 500, 0};
  for (const ScoredTarget scored : {ScoredTarget::first, ScoredTarget::best}) {
    config.eval.score = scored;
    OfflineRlTask task = opened();
    task.model().eval();
    const Evaluation evaluation = task.evaluate(Part::validation);
    double best = evaluation.also.at("score_at_-500");
    for (const char* key : {"score_at_500", "score_at_0"}) best = std::max(best, evaluation.also.at(key));
    EXPECT_EQ(evaluation.score, scored == ScoredTarget::best ? best : evaluation.also.at("score_at_-500"));
  }
}

TEST_F(HopperTaskTest, TargetsAreThoseOfTheDataUnlessTheConfigurationNamesSome) {
  config.eval.targets = {};
  OfflineRlTask task = opened();
  task.model().eval();
  EXPECT_EQ(run::rollout_details(task.evaluate(Part::test)).targets[1].target,
            std::round(1e3 * task.offline_facts().targets[1]) / 1e3);
  EXPECT_EQ(task.play({7}, 2, 1).size(), 2U);
  EXPECT_EQ(task.play({}, 2, 1).size(), 4U);
}

TEST_F(HopperTaskTest, AnAgentOfARobotIsNotJudgedByAFile) {
  EXPECT_TRUE(contains(error_of([&] { opened().evaluate_file("any.hdf5"); }),
                       "any.hdf5: an agent of a robot is judged by playing, not by a file"));
}

TEST_F(HopperTaskTest, EpisodesOfAnotherSizeAreNotAHoppers) {
  config.data.train = written("hopper-five.hdf5", random_episodes({3, 4}, 5, 2)).string();
  EXPECT_TRUE(contains(error_of([&] { opened(); }), "hopper-five.hdf5: states of 5 numbers, expected 11 for Hopper"));
}

}  // namespace
}  // namespace primal::tasks
