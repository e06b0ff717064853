#include "environments/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "environments/recorded.h"
#include "support/errors.h"

namespace {

using namespace primal::environments;
using primal::tests::copy_of;
using primal::tests::error_of;

using EnvironmentBatchTest = primal::tests::RobotTest;

// Actions that differ from episode to episode, and make some robots fall earlier than others.
std::vector<double> actions_for(const EnvironmentBatch& batch, double step) {
  std::vector<double> actions;
  for (int64_t i = 0; i < batch.size(); ++i) {
    for (int64_t j = 0; j < batch.robot().actions; ++j) {
      actions.push_back(std::sin(step * static_cast<double>(i + 1) + static_cast<double>(j)));
    }
  }
  return actions;
}

struct Played {
  std::vector<double> observations, rewards;
  std::vector<int64_t> steps;
  bool operator==(const Played&) const = default;
};

Played played(Robot robot, int64_t size, int64_t threads) {
  EnvironmentBatch batch(simulator(robot), size, threads);
  batch.reset(4);
  Played result{{}, std::vector<double>(static_cast<std::size_t>(size)), {}};
  for (int step = 0; step < 60; ++step) {
    const auto results = batch.step(actions_for(batch, 0.1 * step));
    for (std::size_t i = 0; i < results.size(); ++i) result.rewards[i] += results[i].reward;
  }
  result.observations = copy_of(batch.observations());
  for (int64_t i = 0; i < size; ++i) result.steps.push_back(batch[i].steps());
  return result;
}

TEST_F(EnvironmentBatchTest, TheBitsDoNotDependOnTheNumberOfThreads) {
  for (const RobotInfo& robot : robots()) {
    const Played alone = played(robot.robot, 7, 1);
    for (const int64_t threads : {2, 3, 16}) EXPECT_TRUE(played(robot.robot, 7, threads) == alone) << threads;
  }
}

TEST_F(EnvironmentBatchTest, AnEpisodeDoesNotDependOnItsNeighbours) {
  const Played many = played(Robot::walker2d, 7, 2), few = played(Robot::walker2d, 2, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(few.rewards[i], many.rewards[i]);
    EXPECT_EQ(few.steps[i], many.steps[i]);
  }
  EXPECT_TRUE(std::equal(few.observations.begin(), few.observations.end(), many.observations.begin()));
}

TEST_F(EnvironmentBatchTest, EpisodesHaveNumbers) {
  EnvironmentBatch four(simulator(Robot::hopper), 4, 1), two(simulator(Robot::hopper), 2, 1);
  four.reset(9);
  two.reset(9, 2);
  const auto states = static_cast<std::size_t>(four.robot().states);
  EXPECT_EQ(copy_of(four.observations().subspan(2 * states)), copy_of(two.observations()));
  EXPECT_NE(copy_of(four[0].observation()), copy_of(four[1].observation()));
  four.reset_one(0, 9, 3);
  EXPECT_EQ(copy_of(four[0].observation()), copy_of(four[3].observation()));
  two.reset(10, 2);
  EXPECT_NE(copy_of(four[3].observation()), copy_of(two[1].observation()));
}

TEST_F(EnvironmentBatchTest, EndedEpisodesAreLeftAloneUntilTheyAreReset) {
  EnvironmentBatch batch(simulator(Robot::hopper), 3, 2);
  batch.reset(1);
  std::vector<double> actions(9, 0.0);
  std::fill_n(actions.begin(), 3, 1.0);  // the first one falls before the others
  while (!batch.ended(0)) batch.step(actions);
  EXPECT_EQ(batch.running(), 2);
  EXPECT_TRUE(batch.results()[0].terminated);
  const int64_t steps = batch[0].steps();
  const std::vector<double> last = copy_of(batch[0].observation());
  batch.step(actions);
  EXPECT_EQ(batch[0].steps(), steps);
  EXPECT_EQ(batch[1].steps(), steps + 1);
  EXPECT_EQ(copy_of(batch[0].observation()), last);
  EXPECT_EQ(batch.results()[0].reward, 0);
  EXPECT_TRUE(batch.results()[0].terminated);
  batch.reset_one(0, 1, 3);
  EXPECT_EQ(batch.running(), 3);
  EXPECT_FALSE(batch.ended(0));
}

TEST_F(EnvironmentBatchTest, WrongSizesAreRefused) {
  EnvironmentBatch batch(simulator(Robot::hopper), 2, 1);
  EXPECT_EQ(error_of([&] { batch.step(std::vector<double>(5)); }), "hopper: 5 numbers of actions, expected 2 times 3");
  EXPECT_EQ(error_of([] { EnvironmentBatch(simulator(Robot::hopper), 0, 1); }),
            "robots: a batch of 0 episodes, expected at least 1");
}

}  // namespace
