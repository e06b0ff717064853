// Episodes that agents play, and what is made of them.
#include "tasks/offline_rl/rollouts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "environments/batch.h"
#include "tasks/offline_rl/animations.h"
#include "tasks/offline_rl/played_hopper.h"

namespace primal::tasks {
namespace {

using environments::Robot;
using environments::Version;
using tests::ConstantPolicy;
using tests::small_cloning;
using RolloutsTest = tests::PlayedHopperTest;

constexpr double kNoTarget = std::numeric_limits<double>::quiet_NaN();
constexpr Normalisation kHundredths{.name = "this set", .random_return = 100, .expert_return = 300};

std::vector<PlayedEpisode> episodes_of(double target, const std::vector<double>& returns) {
  std::vector<PlayedEpisode> episodes;
  for (const double earned : returns) episodes.push_back({.target = target, .earned = earned, .steps = 10});
  return episodes;
}

std::vector<PlayedEpisode> joined_episodes(std::vector<PlayedEpisode> first, const std::vector<PlayedEpisode>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST(RolloutEvaluation, HasReturnAndScoreOfEachTarget) {
  const auto episodes = joined_episodes(episodes_of(1000, {100, 200}), episodes_of(499.6, {300, 500}));
  const run::Evaluation evaluation = evaluation_of(episodes, kHundredths, ScoredTarget::first);
  EXPECT_EQ(evaluation.also.size(), 6U);
  EXPECT_DOUBLE_EQ(evaluation.also.at("return_at_1000"), 150);
  EXPECT_DOUBLE_EQ(evaluation.also.at("score_at_1000"), 25);
  EXPECT_DOUBLE_EQ(evaluation.also.at("deviation_at_1000"), std::sqrt(5000.0)) << "of the sample";
  EXPECT_DOUBLE_EQ(evaluation.also.at("return_at_500"), 400);
  EXPECT_DOUBLE_EQ(evaluation.also.at("score_at_500"), 150);
  EXPECT_FALSE(evaluation.loss);
}

TEST(RolloutEvaluation, TargetsThatRoundAlikeHaveNumbersOfTheirOwn) {
  const auto episodes = joined_episodes(episodes_of(1000, {100}), episodes_of(999.75, {300}));
  const run::Evaluation evaluation = evaluation_of(episodes, kHundredths, ScoredTarget::first);
  EXPECT_DOUBLE_EQ(evaluation.also.at("return_at_1000"), 100);
  EXPECT_DOUBLE_EQ(evaluation.also.at("return_at_999.75"), 300);
}

TEST(RolloutEvaluation, IsScoredByTheFirstTargetOrTheBest) {
  const auto rising = joined_episodes(episodes_of(1000, {150}), episodes_of(500, {200}));
  const auto falling = joined_episodes(episodes_of(1000, {150}), episodes_of(500, {-200}));
  EXPECT_DOUBLE_EQ(evaluation_of(rising, kHundredths, ScoredTarget::first).score, 25);
  EXPECT_DOUBLE_EQ(evaluation_of(rising, kHundredths, ScoredTarget::best).score, 50);
  EXPECT_DOUBLE_EQ(evaluation_of(falling, kHundredths, ScoredTarget::first).score, 25);
  EXPECT_DOUBLE_EQ(evaluation_of(falling, kHundredths, ScoredTarget::best).score, 25);
}

TEST(RolloutEvaluation, OfOneEpisodeHasNoDeviation) {
  const run::Evaluation evaluation = evaluation_of(episodes_of(1000, {150}), kHundredths, ScoredTarget::first);
  EXPECT_FALSE(evaluation.also.contains("deviation_at_1000"));
}

TEST(RolloutEvaluation, WithoutATargetNamesNone) {
  const run::Evaluation evaluation =
      evaluation_of(episodes_of(kNoTarget, {100, 200, 300}), kHundredths, ScoredTarget::best);
  EXPECT_EQ(evaluation.also.size(), 3U);
  EXPECT_DOUBLE_EQ(evaluation.also.at("return"), 200);
  EXPECT_DOUBLE_EQ(evaluation.also.at("deviation"), 100);
  EXPECT_DOUBLE_EQ(evaluation.also.at("score"), 50);
  EXPECT_DOUBLE_EQ(evaluation.score, 50);
}

TEST_F(RolloutsTest, EachTargetHasItsEpisodesWhichBeginAlike) {
  const auto policy = agent();
  const auto episodes = played(*policy, {.targets = {100, 50}, .episodes = 3, .keep_positions = true});
  ASSERT_EQ(episodes.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(episodes[i].target, i < 3 ? 100 : 50);
    EXPECT_TRUE(episodes[i].fell);
    EXPECT_GT(episodes[i].steps, 3);
    EXPECT_LT(episodes[i].steps, environments::kTimeLimit);
    EXPECT_EQ(std::ssize(episodes[i].positions), (episodes[i].steps + 1) * 6);
  }
  const auto start = [&](size_t i) {
    return std::vector(episodes[i].positions.begin(), episodes[i].positions.begin() + 6);
  };
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(start(i), start(i + 3)) << i;
  EXPECT_NE(start(0), start(1));
}

TEST_F(RolloutsTest, ReturnsAreSumsOfTheRewardsOfTheSimulator) {
  ConstantPolicy policy(0.3, 3);
  const auto episodes = played(policy, {.targets = {100}, .episodes = 2, .seed = 4, .first = 9});
  environments::EnvironmentBatch batch(environments::simulator(Robot::hopper), 2, 1);
  batch.reset(4, 9);
  std::vector<double> earned(2), steps(2);
  while (batch.running() > 0) {
    for (int64_t i = 0; i < 2; ++i) steps[static_cast<size_t>(i)] += !batch.ended(i);
    const auto results = batch.step(std::vector<double>(6, static_cast<double>(0.3F)));
    for (size_t i = 0; i < 2; ++i) earned[i] += results[i].reward;
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_DOUBLE_EQ(episodes[i].earned, earned[i]);
    EXPECT_EQ(static_cast<double>(episodes[i].steps), steps[i]);
    EXPECT_TRUE(episodes[i].positions.empty()) << "nobody asked for them";
  }
}

TEST_F(RolloutsTest, StatesAreShownAsTheModelWasTrainedOnThem) {
  ConstantPolicy policy(0, 3);
  played(policy, {.targets = {100}, .episodes = 2, .seed = 4, .first = 9});
  environments::EnvironmentBatch batch(environments::simulator(Robot::hopper), 2, 1);
  batch.reset(4, 9);
  for (int64_t i = 0; i < 22; ++i) {
    const double expected = (batch.observations()[static_cast<size_t>(i)] - 0.25) / 2.0;
    EXPECT_FLOAT_EQ(policy.shown.front().states.view(-1)[i].item<float>(), static_cast<float>(expected));
  }
}

TEST_F(RolloutsTest, WhatWasEarnedIsNoLongerAskedFor) {
  ConstantPolicy policy(0.5, 3);
  config.data.return_scale = 10;
  const auto episode = played(policy, {.targets = {100}, .episodes = 1}).front();
  ASSERT_EQ(std::ssize(policy.shown), episode.steps);
  EXPECT_FLOAT_EQ(policy.shown.front().returns_to_go.item<float>(), 10);
  double wanted = 10;
  environments::EnvironmentBatch batch(environments::simulator(Robot::hopper), 1, 1);
  batch.reset(1, 0);
  for (const auto& shown : policy.shown) {
    EXPECT_NEAR(shown.returns_to_go.item<double>(), wanted, 1e-4);
    wanted -= batch.step(std::vector<double>(3, 0.5)).front().reward / 10;
  }
}

TEST_F(RolloutsTest, DelayedRewardsLeaveAllToBeAskedFor) {
  ConstantPolicy policy(0.5, 3);
  config.data.delayed = true;
  const auto episodes = played(policy, {.targets = {100}, .episodes = 2});
  for (const auto& shown : policy.shown) EXPECT_TRUE(shown.returns_to_go.eq(0.1F).all().item<bool>());
  EXPECT_NE(episodes.front().earned, 0) << "though it is earned";
}

TEST_F(RolloutsTest, OnlyThoseThatHaveNotEndedAreLive) {
  ConstantPolicy policy(0.5, 3);
  const auto episodes = played(policy, {.targets = {100}, .episodes = 5});
  for (size_t step = 0; step < policy.shown.size(); ++step) {
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 5; ++i) {
      if (static_cast<int64_t>(step) < episodes[static_cast<size_t>(i)].steps) expected.push_back(i);
    }
    EXPECT_EQ(policy.shown[step].live, expected) << step;
  }
}

TEST_F(RolloutsTest, APolicyWithoutTargetsPlaysItsEpisodesOnce) {
  ConstantPolicy policy(0.5, 3, /*takes_targets=*/false);
  const auto episodes = played(policy, {.targets = {100, 50}, .episodes = 2});
  ASSERT_EQ(episodes.size(), 2U);
  for (const PlayedEpisode& episode : episodes) EXPECT_TRUE(std::isnan(episode.target));
  for (const auto& shown : policy.shown) EXPECT_TRUE(shown.returns_to_go.isfinite().all().item<bool>());
}

TEST_F(RolloutsTest, WhatDoesNotFallRunsUntilTheTimeIsUp) {
  facts.robot = Robot::half_cheetah;
  facts.states = 17;
  facts.actions = 6;
  facts.mean.assign(17, 0);
  facts.deviation.assign(17, 1);
  ConstantPolicy policy(0, 6);
  const auto episodes = played(policy, {.targets = {100}, .episodes = 1, .keep_positions = true});
  EXPECT_EQ(episodes.front().steps, environments::kTimeLimit);
  EXPECT_FALSE(episodes.front().fell);
  EXPECT_EQ(std::ssize(episodes.front().positions), 1001 * 9);
  EXPECT_EQ(animations_of(episodes, Robot::half_cheetah, Version::v4).front().frames.size(), 250U) << "at most";
}

void expect_same_episode(const PlayedEpisode& actual, const PlayedEpisode& expected, double tolerance) {
  EXPECT_EQ(actual.steps, expected.steps);
  EXPECT_NEAR(actual.earned, expected.earned, tolerance);
  EXPECT_EQ(actual.fell, expected.fell);
}

TEST_F(RolloutsTest, AnEpisodeDoesNotDependOnHowManyPlayBesideIt) {
  for (const Context context : {Context::window, Context::episode}) {
    config.eval.context = context;
    const auto policy = agent();
    const auto together = played(*policy, {.targets = {100, 50}, .episodes = 4});
    for (int64_t i = 0; i < 4; ++i) {
      const auto alone = played(*policy, {.targets = {50}, .episodes = 1, .first = i});
      expect_same_episode(alone.front(), together[static_cast<size_t>(4 + i)], 1e-3);
    }
  }
}

TEST_F(RolloutsTest, BitsDoNotDependOnThreads) {
  const auto policy = agent();
  const RolloutOrder order{.targets = {100, 50}, .episodes = 3, .keep_positions = true};
  RolloutOrder on_more = order;
  on_more.threads = 3;
  const auto first = played(*policy, order), again = played(*policy, on_more);
  for (size_t i = 0; i < first.size(); ++i) {
    expect_same_episode(again[i], first[i], 0);
    EXPECT_EQ(again[i].positions, first[i].positions);
  }
}

TEST_F(RolloutsTest, MoreEpisodesThanFitSideBySideBeginAsTheirNumbersSay) {
  ConstantPolicy policy(0.5, 3);
  RolloutOrder order{.targets = {}, .episodes = 3};
  for (int target = 0; target < 90; ++target) order.targets.push_back(target);  // 270 episodes
  const auto episodes = played(policy, order);
  ASSERT_EQ(episodes.size(), 270U);
  for (size_t i = 3; i < episodes.size(); ++i) expect_same_episode(episodes[i], episodes[i % 3], 0);
  EXPECT_NE(episodes[0].earned, episodes[1].earned);
}

TEST_F(RolloutsTest, OtherSeedsAndNumbersAreOtherEpisodes) {
  ConstantPolicy policy(0.5, 3);
  const auto earned = [&](uint64_t seed, int64_t first) {
    return played(policy, {.targets = {100}, .episodes = 1, .seed = seed, .first = first}).front().earned;
  };
  EXPECT_EQ(earned(1, 0), earned(1, 0));
  EXPECT_NE(earned(1, 0), earned(2, 0));
  EXPECT_NE(earned(1, 0), earned(1, 1));
}

TEST_F(RolloutsTest, DetailsGoIntoAResultAndComeBack) {
  const auto policy = agent();
  config.train.keep = train::Keep::last;
  const auto episodes = played(*policy, {.targets = {100, 50}, .episodes = 3, .keep_positions = true});
  run::Evaluation evaluation;
  put(evaluation, details_of(episodes, facts, config));
  const run::RolloutDetails details = run::rollout_details(evaluation);
  EXPECT_EQ(details.robot, "Hopper");
  EXPECT_EQ(details.normalisation, "this set");
  EXPECT_EQ(details.random_return, 10);
  EXPECT_EQ(details.expert_return, 60);
  EXPECT_EQ(details.checkpoint, "last");
  EXPECT_EQ(details.data_returns, (std::vector<double>{20, 30}));
  ASSERT_EQ(details.targets.size(), 2U);
  EXPECT_EQ(details.targets[1].target, 50);
  EXPECT_NEAR(details.targets[1].returns[2], episodes[5].earned, 1e-3);
  EXPECT_EQ(details.targets[1].steps[2], episodes[5].steps);
  EXPECT_EQ(details.animations.size(), 3U);
  config.train.keep = train::Keep::best;
  EXPECT_EQ(details_of(episodes, facts, config).checkpoint, "best");
}

TEST_F(RolloutsTest, DetailsOfAPolicyWithoutTargetsComeBackToo) {
  config = small_cloning();
  const auto policy = agent();
  const auto episodes = played(*policy, {.targets = {100, 50}, .episodes = 3, .keep_positions = true});
  run::Evaluation evaluation;
  put(evaluation, details_of(episodes, facts, config));
  const run::RolloutDetails details = run::rollout_details(evaluation);
  ASSERT_EQ(details.targets.size(), 1U);
  EXPECT_TRUE(std::isnan(details.targets[0].target));
  EXPECT_EQ(details.targets[0].returns.size(), 3U);
  EXPECT_EQ(details.animations.size(), 3U);
}

}  // namespace
}  // namespace primal::tasks
