#include "environments/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "environments/toy_player.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::environments;
using primal::data::Episode;
using primal::data::Trajectories;
using primal::tests::contains;
using primal::tests::error_of;
using primal::tests::kToyActions;
using primal::tests::kToyStates;
using primal::tests::kToySteps;
using primal::tests::play_toy;
using primal::tests::toy_options;

// Shaken so much that some balls fall.
const LinearPolicy kShaky = LinearPolicy::at_rest(kToyStates, kToyActions, 0.9);

constexpr double kToyGoal = 0;  // it begins below -20

ReplayOrder toy_replay(double goal) {
  return {.plan = {.options = toy_options(), .runs = 2, .every = 2, .episodes = 5},
          .states = kToyStates,
          .actions = kToyActions,
          .goal = goal,
          .most_steps = 20'000};
}

bool same(const Recording& one, const Recording& other) {
  const Trajectories &a = one.trajectories, &b = other.trajectories;
  return a.states == b.states && a.actions == b.actions && a.rewards == b.rewards &&
         one.next_states == other.next_states;
}

TEST(Recording, HasWholeEpisodesUntilThereAreEnoughSteps) {
  const auto recording = record_episodes(play_toy, kShaky, 1, Draw::medium, 1000, {});
  ASSERT_TRUE(recording);
  const Trajectories& set = recording->trajectories;
  EXPECT_GE(set.rows(), 1000);
  EXPECT_LT(set.rows(), 1000 + kToySteps);
  EXPECT_EQ(std::ssize(set.states), set.rows() * kToyStates);
  EXPECT_EQ(std::ssize(set.actions), set.rows() * kToyActions);
  EXPECT_EQ(recording->next_states.size(), set.states.size());
  int64_t begin = 0, fallen = 0;
  for (const Episode& episode : set.episodes) {
    EXPECT_EQ(episode.begin, begin);
    EXPECT_TRUE(episode.terminated || episode.size() == kToySteps);
    fallen += episode.terminated;
    begin = episode.end;
  }
  EXPECT_EQ(begin, set.rows());
  EXPECT_GT(fallen, 0);
  EXPECT_LT(fallen, std::ssize(set.episodes));
}

TEST(Recording, DoesNotDependOnTheNumberOfThreads) {
  const auto one = record_episodes(play_toy, kShaky, 1, Draw::medium, 1000, {.threads = 1});
  const auto three = record_episodes(play_toy, kShaky, 1, Draw::medium, 1000, {.threads = 3});
  const auto other = record_episodes(play_toy, kShaky, 2, Draw::medium, 1000, {.threads = 3});
  EXPECT_TRUE(same(*one, *three));
  EXPECT_FALSE(same(*one, *other));
}

TEST(Recording, StopsWhenAsked) {
  EXPECT_FALSE(record_episodes(play_toy, kShaky, 1, Draw::medium, 1000, {.stop = [] { return true; }}));
  EXPECT_FALSE(record_replay(toy_replay(kToyGoal), play_toy, {.stop = [] { return true; }}));
}

TEST(Replay, HasTheTrialsOfATrainingUpToItsGoal) {
  const auto replay = record_replay(toy_replay(kToyGoal), play_toy, {.threads = 2});
  ASSERT_TRUE(replay);
  EXPECT_GE(replay->reached, kToyGoal);
  Ars ars(toy_options(), seed_of_run(1, replay->run), kToyStates, kToyActions, play_toy);
  Recording expected;
  while (ars.state().iteration < replay->iterations) {
    for (const Rollout& rollout : ars.iterate(1)) expected.add(rollout);
  }
  EXPECT_TRUE(same(replay->recording, expected));
  EXPECT_EQ(replay->steps, expected.trajectories.rows());
}

TEST(Replay, ForgetsTheOldestTrials) {
  const auto all = record_replay(toy_replay(kToyGoal), play_toy, {});
  ReplayOrder order = toy_replay(kToyGoal);
  order.kept_steps = 200;
  const auto last = record_replay(order, play_toy, {});
  const std::vector<float>&kept = last->recording.trajectories.rewards, &from = all->recording.trajectories.rewards;
  EXPECT_LE(kept.size(), 200U);
  EXPECT_GT(kept.size(), 200U - kToySteps);
  EXPECT_TRUE(std::equal(kept.rbegin(), kept.rend(), from.rbegin()));
}

TEST(Replay, ThatNeverGetsThereIsAnError) {
  const std::string complaint = error_of([] { record_replay(toy_replay(1000), play_toy, {}); });
  EXPECT_TRUE(contains(complaint, "expected a policy that earns 1000 within 20000 steps"));
}

class HomeSetTest : public primal::tests::FolderTest {
 protected:
  void SetUp() override {
    if (!has_simulator() || !primal::data::has_hdf5()) GTEST_SKIP() << "built without MuJoCo or HDF5";
  }

  /// A hopper that stands for a moment, and one that does so a little longer.
  static RobotPolicies policies() {
    const RobotInfo& robot = info(Robot::hopper);
    RobotPolicies result{.robot = Robot::hopper};
    result.medium = {.policy = LinearPolicy::at_rest(robot.states, robot.actions, 0.1)};
    result.expert = {.policy = LinearPolicy::at_rest(robot.states, robot.actions, 0.1)};
    result.expert.policy.weights[1] = 0.1;
    result.random = {.mean = 20, .episodes = 50};
    result.expert.returns = {.mean = 1020, .episodes = 50};
    return result;
  }
  Trajectories written_and_read(DataKind kind, int64_t steps) const {
    const auto recording = record_set({.robot = Robot::hopper, .kind = kind, .steps = steps}, policies(), {});
    write_d4rl(folder / "set.hdf5", recording->trajectories, recording->next_states);
    return primal::data::read_trajectories(folder / "set.hdf5");
  }
};

TEST_F(HomeSetTest, CarriesHowItWasMadeAndItsNormalisation) {
  const Trajectories set = written_and_read(DataKind::medium, 300);
  EXPECT_EQ(set.state_size, 11);
  EXPECT_EQ(set.action_size, 3);
  EXPECT_GE(set.rows(), 300);
  EXPECT_TRUE(std::ranges::all_of(set.episodes, &Episode::terminated));
  EXPECT_TRUE(std::ranges::all_of(set.actions, [](float value) { return value >= -1 && value <= 1; }));
  EXPECT_EQ(set.made.at("robot"), "hopper");
  EXPECT_EQ(set.made.at("kind"), "medium");
  EXPECT_EQ(set.made.at("seed"), 1);
  EXPECT_EQ(set.made.at("noise"), 0.1);
  EXPECT_EQ(set.made.at("steps"), set.rows());
  EXPECT_EQ(set.made.at("random_return"), 20);
  EXPECT_EQ(set.made.at("expert_return"), 1020);
  EXPECT_TRUE(set.made.at("policy").contains("medium"));
  EXPECT_EQ(policies().score(20), 0);
  EXPECT_EQ(policies().score(1020), 100);
}

TEST_F(HomeSetTest, MediumExpertIsBothSetsOneAfterTheOther) {
  const Trajectories medium = written_and_read(DataKind::medium, 200), expert = written_and_read(DataKind::expert, 200);
  const Trajectories both = written_and_read(DataKind::medium_expert, 400);
  std::vector<float> joined = medium.actions;
  joined.insert(joined.end(), expert.actions.begin(), expert.actions.end());
  EXPECT_EQ(both.actions, joined);
  EXPECT_EQ(both.episodes.size(), medium.episodes.size() + expert.episodes.size());
}

TEST_F(HomeSetTest, RandomActionsEarnWhatD4rlSays) {
  const Trajectories set = written_and_read(DataKind::random, 5000);
  double total = 0;
  for (const Episode& episode : set.episodes) total += set.episode_return(episode);
  EXPECT_NEAR(total / static_cast<double>(set.episodes.size()), 18.4, 6);  // 17.5 / sqrt(230) = 1.2
  EXPECT_FALSE(set.made.contains("policy"));
}

TEST_F(HomeSetTest, PoliciesComeBackFromTheirFile) {
  const auto file = write("hopper.json", file_text(policies()));
  const RobotPolicies read = read_policies(file, Robot::hopper);
  EXPECT_EQ(read.expert.policy, policies().expert.policy);
  EXPECT_EQ(read.expert.returns, policies().expert.returns);
  EXPECT_EQ(read.random, policies().random);
  EXPECT_TRUE(contains(error_of([&] { read_policies(file, Robot::walker2d); }),
                       "expected policies of walker2d, got those of \"hopper\""));
  EXPECT_TRUE(contains(error_of([&] { read_policies(write("a.json", "{}"), Robot::hopper); }), "field \"robot\""));
  EXPECT_TRUE(contains(error_of([&] { read_policies(write("a.json", "[]"), Robot::hopper); }), "a.json: expected"));
}

}  // namespace
