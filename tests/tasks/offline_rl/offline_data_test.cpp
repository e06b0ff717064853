// Logged episodes as windows for a model.
#include "tasks/offline_rl/offline_data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/tensors.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tasks {
namespace {

using tests::random_episodes;
using tests::same;
using tests::small_agent;

constexpr double kScale = 100;

OfflineFacts facts_of_some(const data::Trajectories& all) {
  OfflineRlConfig config = small_agent();
  config.data.train = "some.hdf5";
  config.data.robot = "none";
  return facts_of(all, config, "some.hdf5");
}

std::vector<int64_t> numbers_up_to(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

Episodes every_episode(const data::Trajectories& all, bool delayed = false) {
  return Episodes(all, numbers_up_to(std::ssize(all.episodes)), facts_of_some(all), kScale, delayed);
}

// All returns-to-go, by windows of a single step.
std::vector<float> returns_to_go(const Episodes& episodes) {
  std::vector<float> returns;
  for (int64_t row = 0; row < episodes.rows(); ++row) {
    returns.push_back(episodes.windows(std::vector{episodes.from(row, 1)}, 1).returns_to_go.item<float>());
  }
  return returns;
}

// A number of a state as the model sees it.
float standardised(double value, const OfflineFacts& facts, int64_t place) {
  const auto i = static_cast<size_t>(place);
  return static_cast<float>((value - facts.mean[i]) / facts.deviation[i]);
}

// What a window is to hold: rows begin .. end - 1 of `all`, and padding behind them.
models::DecisionWindows plain_window(const data::Trajectories& all, const data::Episode& episode, int64_t begin,
                                     int64_t end, int64_t steps) {
  const OfflineFacts facts = facts_of_some(all);
  const int64_t states = all.state_size, actions = all.action_size;
  models::DecisionWindows window{.states = at::zeros({1, steps, states}),
                                 .actions = at::zeros({1, steps, actions}),
                                 .returns_to_go = at::zeros({1, steps}),
                                 .timesteps = at::zeros({1, steps}, at::kLong),
                                 .padding = at::zeros({1, steps}, at::kBool)};
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t row = begin + step;
    const bool is_real = row < end;
    for (int64_t i = 0; i < states; ++i) {
      const double value = is_real ? all.states[static_cast<size_t>(row * states + i)] : 0;
      window.states[0][step][i] = standardised(value, facts, i);
    }
    for (int64_t i = 0; i < actions; ++i) {
      window.actions[0][step][i] = is_real ? all.actions[static_cast<size_t>(row * actions + i)] : -10;
    }
    double rest = 0;
    for (int64_t later = row; is_real && later < episode.end; ++later) rest += all.rewards[static_cast<size_t>(later)];
    window.returns_to_go[0][step] = rest / kScale;
    window.timesteps[0][step] = is_real ? row - episode.begin : 0;
    (*window.padding)[0][step] = !is_real;
  }
  return window;
}

void expect_same_windows(const models::DecisionWindows& actual, const models::DecisionWindows& expected) {
  EXPECT_TRUE(same(actual.states, expected.states));
  EXPECT_TRUE(same(actual.actions, expected.actions));
  EXPECT_TRUE(at::allclose(actual.returns_to_go, expected.returns_to_go, 1e-6, 1e-7));
  EXPECT_TRUE(same(actual.timesteps, expected.timesteps));
  if (actual.padding) {
    EXPECT_TRUE(same(*actual.padding, *expected.padding));
  } else {
    EXPECT_FALSE(expected.padding->any().item<bool>());
  }
}

TEST(OfflineEpisodes, ReturnsToGoAreSumsOfTheRestInUnitsOfTheScale) {
  data::Trajectories all = random_episodes({3, 2}, 1, 1);
  all.rewards = {100, 50, 25, -300, 7};
  EXPECT_EQ(returns_to_go(every_episode(all)), (std::vector<float>{1.75F, 0.75F, 0.25F, -2.93F, 0.07F}));
}

TEST(OfflineEpisodes, DelayedRewardsLeaveTheWholeReturnToGoUpToTheLastStep) {
  data::Trajectories all = random_episodes({3, 2}, 1, 1);
  all.rewards = {100, 50, 25, -300, 7};
  EXPECT_EQ(returns_to_go(every_episode(all, /*delayed=*/true)),
            (std::vector<float>{1.75F, 1.75F, 1.75F, -2.93F, -2.93F}));
}

TEST(OfflineEpisodes, SumsOfManySmallRewardsAreExact) {
  data::Trajectories all = random_episodes({1000}, 1, 1);
  std::ranges::fill(all.rewards, 0.1F);
  EXPECT_FLOAT_EQ(returns_to_go(every_episode(all)).front(), static_cast<float>(1000.0 * 0.1F / kScale));
}

TEST(OfflineWindows, HoldTheirStepsAndPaddingBehindThem) {
  const data::Trajectories all = random_episodes({5, 1, 7}, 3, 2);
  const Episodes episodes = every_episode(all);
  ASSERT_EQ(episodes.rows(), 13);
  for (const int64_t steps : {1, 3, 20}) {
    for (const data::Episode& episode : all.episodes) {
      for (int64_t row = episode.begin; row < episode.end; ++row) {
        SCOPED_TRACE("row " + std::to_string(row) + ", windows of " + std::to_string(steps));
        expect_same_windows(episodes.windows(std::vector{episodes.from(row, steps)}, steps),
                            plain_window(all, episode, row, std::min(row + steps, episode.end), steps));
        const int64_t begin = std::max(episode.begin, row + 1 - steps);
        expect_same_windows(episodes.windows(std::vector{episodes.up_to(row, steps)}, steps),
                            plain_window(all, episode, begin, row + 1, steps));
      }
    }
  }
}

TEST(OfflineWindows, OfABatchAreThoseOfEachAlone) {
  const Episodes episodes = every_episode(random_episodes({5, 1, 7}, 3, 2));
  const std::vector<Stretch> stretches = {episodes.from(11, 4), episodes.from(0, 4), episodes.from(5, 4)};
  const models::DecisionWindows batch = episodes.windows(stretches, 4);
  ASSERT_TRUE(batch.padding);
  EXPECT_EQ(real_steps(batch), 2 + 4 + 1);
  for (size_t i = 0; i < stretches.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const models::DecisionWindows one = episodes.windows(std::vector{stretches[i]}, 4);
    EXPECT_TRUE(same(batch.states[number], one.states[0]));
    EXPECT_TRUE(same(batch.actions[number], one.actions[0]));
    EXPECT_TRUE(same(batch.returns_to_go[number], one.returns_to_go[0]));
    EXPECT_TRUE(same(batch.timesteps[number], one.timesteps[0]));
  }
}

TEST(OfflineWindows, ThatAreFullHaveNoMask) {
  const Episodes episodes = every_episode(random_episodes({5, 6}, 3, 2));
  const models::DecisionWindows full = episodes.windows(std::vector{episodes.from(1, 4), episodes.from(7, 4)}, 4);
  EXPECT_FALSE(full.padding);
  EXPECT_EQ(real_steps(full), 8);
}

TEST(OfflineWindows, NeverReachAcrossEpisodes) {
  const std::vector<int64_t> lengths = {4, 1, 9, 2};
  const Episodes episodes = every_episode(random_episodes(lengths, 1, 1));
  int64_t row = 0;
  for (size_t number = 0; number < lengths.size(); ++number) {
    const int64_t begin = row, end = row + lengths[number];
    for (; row < end; ++row) {
      EXPECT_EQ(episodes.episode_of(row), static_cast<int64_t>(number));
      for (int64_t steps = 1; steps < 12; ++steps) {
        const Stretch later = episodes.from(row, steps), before = episodes.up_to(row, steps);
        EXPECT_EQ(later.begin, row);
        EXPECT_EQ(later.end, std::min(row + steps, end));
        EXPECT_EQ(later.timestep, row - begin);
        EXPECT_EQ(before.begin, std::max(begin, row + 1 - steps));
        EXPECT_EQ(before.end, row + 1);
        EXPECT_EQ(before.timestep, before.begin - begin);
      }
    }
  }
}

TEST(OfflineEpisodes, AreThoseThatWereChosenInTheirOrder) {
  const data::Trajectories all = random_episodes({2, 3, 4}, 3, 2);
  const Episodes some(all, std::vector<int64_t>{2, 0}, facts_of_some(all), kScale, false);
  EXPECT_EQ(some.episodes(), 2);
  ASSERT_EQ(some.rows(), 6);
  EXPECT_EQ(some.episode_of(3), 0);
  EXPECT_EQ(some.episode_of(4), 1);
  expect_same_windows(some.windows(std::vector{some.from(0, 4)}, 4), plain_window(all, all.episodes[2], 5, 9, 4));
  expect_same_windows(some.windows(std::vector{some.from(4, 2)}, 2), plain_window(all, all.episodes[0], 0, 2, 2));
}

TEST(OfflineEpisodes, AreStandardisedByAllStepsOfTheSet) {
  const data::Trajectories all = random_episodes({6, 9, 3}, 3, 2);
  const OfflineFacts facts = facts_of_some(all);
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < all.rows(); ++row) sum += all.states[static_cast<size_t>(3 * row + i)];
    const double mean = sum / 18;
    for (int64_t row = 0; row < all.rows(); ++row) {
      const double distance = all.states[static_cast<size_t>(3 * row + i)] - mean;
      squares += distance * distance;
    }
    EXPECT_NEAR(facts.mean[static_cast<size_t>(i)], mean, 1e-12);
    EXPECT_NEAR(facts.deviation[static_cast<size_t>(i)], std::sqrt(squares / 18) + 1e-6, 1e-12) << "of all, not n - 1";
  }
}

TEST(OfflineEpisodes, AStateThatNeverChangesIsNoDivisionByZero) {
  data::Trajectories all = random_episodes({4}, 2, 1);
  for (size_t row = 0; row < 4; ++row) all.states[2 * row] = 5;
  EXPECT_DOUBLE_EQ(facts_of_some(all).deviation[0], 1e-6);
  const Episodes episodes = every_episode(all);
  const models::DecisionWindows windows = episodes.windows(std::vector{episodes.from(0, 4)}, 4);
  EXPECT_TRUE(same(windows.states[0].select(1, 0).contiguous(), at::zeros({4})));
}

TEST(BestEpisodes, AreThoseWithTheHighestReturnsInTheirOrder) {
  data::Trajectories all = random_episodes({1, 2, 1, 1, 1}, 1, 1);
  all.rewards = {5, 4, 4, -1, 5, 7};  // returns 5, 8, -1, 5, 7
  EXPECT_EQ(best_episodes(all, 1), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(best_episodes(all, 0.4), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(best_episodes(all, 0.6), (std::vector<int64_t>{0, 1, 4})) << "of equal ones the first";
  EXPECT_EQ(best_episodes(all, 0.41), (std::vector<int64_t>{0, 1, 4})) << "rounded up";
  EXPECT_EQ(best_episodes(all, 1e-9), (std::vector<int64_t>{1})) << "at least one";
}

}  // namespace
}  // namespace primal::tasks
