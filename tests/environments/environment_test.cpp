#include "environments/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "environments/recorded.h"
#include "environments/rules.h"
#include "support/errors.h"
#include "support/files.h"

namespace {

using namespace primal::environments;
using primal::base::Random;
using primal::tests::contains;
using primal::tests::copy_of;
using primal::tests::environment;
using primal::tests::error_of;
using primal::tests::recorded;
using primal::tests::Recorded;

using EnvironmentTest = primal::tests::RobotTest;

constexpr double kTolerance = 1e-10;

void expect_near(std::span<const double> numbers, const std::vector<double>& expected) {
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], kTolerance) << "number " << i;
}

std::vector<double> actions_of(const Environment& env, double value) {
  return std::vector<double>(static_cast<std::size_t>(env.robot().actions), value);
}

TEST_F(EnvironmentTest, TrajectoriesAreThoseOfGymnasium) {
  for (const RobotInfo& robot : robots()) {
    for (const Version version : {Version::v4, Version::v5}) {
      SCOPED_TRACE(std::string(robot.name) + (version == Version::v4 ? " v4" : " v5"));
      const Recorded expected = recorded(robot.robot, version);
      Environment env = environment(robot.robot, version);
      env.set_state(expected.positions, expected.velocities);
      expect_near(env.observation(), expected.first);
      const std::size_t every = expected.actions.size() / expected.observations.size();
      for (std::size_t i = 0; i < expected.actions.size(); ++i) {
        SCOPED_TRACE("step " + std::to_string(i));
        const StepResult result = env.step(expected.actions[i]);
        EXPECT_NEAR(result.reward, expected.rewards[i], kTolerance);
        EXPECT_EQ(result.terminated, expected.terminated[i] != 0);
        if (i % every == every - 1) expect_near(env.observation(), expected.observations[i / every]);
      }
    }
  }
}

TEST_F(EnvironmentTest, TheRecordedOnesFallAndTheVersionsDiffer) {
  const Recorded v4 = recorded(Robot::hopper, Version::v4), v5 = recorded(Robot::hopper, Version::v5);
  const auto fall = std::ranges::find(v4.terminated, 1) - v4.terminated.begin();
  ASSERT_LT(fall, std::ssize(v4.terminated));
  EXPECT_NEAR(v4.rewards[static_cast<std::size_t>(fall)] - v5.rewards[static_cast<std::size_t>(fall)], 1, kTolerance);
  EXPECT_NE(recorded(Robot::walker2d, Version::v4).observations, recorded(Robot::walker2d, Version::v5).observations);
}

TEST_F(EnvironmentTest, ARobotThatFallsTerminatesItsEpisode) {
  for (const Robot robot : {Robot::hopper, Robot::walker2d}) {
    Environment env = environment(robot);
    env.reset(Random(1));
    StepResult result;
    while (!result.ended()) result = env.step(actions_of(env, 1));
    EXPECT_TRUE(result.terminated);
    EXPECT_FALSE(result.truncated);
    EXPECT_LT(env.steps(), kTimeLimit);
    EXPECT_FALSE(is_upright(robot, env.positions(), env.velocities()));
  }
}

TEST_F(EnvironmentTest, TheTimeLimitTruncatesAnEpisode) {
  Environment env = environment(Robot::half_cheetah);
  env.reset(Random(1));
  const std::vector<double> rest = actions_of(env, 0);
  for (int64_t i = 1; i < kTimeLimit; ++i) ASSERT_FALSE(env.step(rest).ended());
  const StepResult last = env.step(rest);
  EXPECT_TRUE(last.truncated);
  EXPECT_FALSE(last.terminated);
  EXPECT_EQ(env.steps(), kTimeLimit);
  env.reset(Random(1));
  EXPECT_EQ(env.steps(), 0);
}

TEST_F(EnvironmentTest, ActionsAreClippedBeforeTheyCost) {
  for (const RobotInfo& robot : robots()) {
    Environment plain = environment(robot.robot), beyond = environment(robot.robot);
    plain.reset(Random(2));
    beyond.reset(Random(2));
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(plain.step(actions_of(plain, -1)).reward, beyond.step(actions_of(beyond, -7)).reward);
    EXPECT_EQ(plain.step(actions_of(plain, 1)).reward, beyond.step(actions_of(beyond, infinity)).reward);
    EXPECT_EQ(copy_of(plain.observation()), copy_of(beyond.observation()));
  }
}

TEST_F(EnvironmentTest, TheSameNumbersGiveTheSameStart) {
  for (const RobotInfo& robot : robots()) {
    Environment one = environment(robot.robot), two = environment(robot.robot);
    one.reset(Random(5));
    two.reset(Random(6));
    EXPECT_NE(copy_of(one.observation()), copy_of(two.observation()));
    two.step(actions_of(two, 1));
    two.reset(Random(5));
    EXPECT_EQ(copy_of(one.observation()), copy_of(two.observation()));
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(one.step(actions_of(one, 0.3)).reward, two.step(actions_of(two, 0.3)).reward);
    }
    EXPECT_EQ(copy_of(one.observation()), copy_of(two.observation()));
  }
}

TEST_F(EnvironmentTest, AnObservationIsAllButTheWayGone) {
  Environment env = environment(Robot::half_cheetah);
  std::vector<double> positions(9), velocities(9);
  for (int i = 0; i < 9; ++i) positions[i] = 0.01 * i, velocities[i] = 20 + i;
  env.set_state(positions, velocities);
  EXPECT_EQ(copy_of(env.positions()), positions);
  EXPECT_EQ(copy_of(env.velocities()), velocities);
  std::vector<double> expected(positions.begin() + 1, positions.end());
  expected.insert(expected.end(), velocities.begin(), velocities.end());
  EXPECT_EQ(copy_of(env.observation()), expected);
}

TEST_F(EnvironmentTest, TheCapsulesStandOnTheFloorAndMoveWithTheRobot) {
  for (const RobotInfo& robot : robots()) {
    Environment env = environment(robot.robot);
    const std::vector<Capsule> at_start = env.capsules();
    EXPECT_GE(std::ssize(at_start), robot.actions + 1);
    double lowest = 1;
    for (const Capsule& c : at_start) {
      EXPECT_GT(c.radius, 0);
      lowest = std::min(lowest, std::min(c.z1, c.z2) - c.radius);
    }
    EXPECT_NEAR(lowest, 0, 0.1);
    std::vector<double> moved = copy_of(env.positions());
    moved[0] += 3;
    env.set_state(moved, copy_of(env.velocities()));
    for (std::size_t i = 0; i < at_start.size(); ++i) {
      EXPECT_NEAR(env.capsules()[i].x1, at_start[i].x1 + 3, 1e-12);
      EXPECT_NEAR(env.capsules()[i].z2, at_start[i].z2, 1e-12);
    }
  }
}

TEST_F(EnvironmentTest, LookingAtTheCapsulesChangesNothing) {
  for (const RobotInfo& robot : robots()) {
    Environment seen = environment(robot.robot), unseen = environment(robot.robot);
    seen.reset(Random(8));
    unseen.reset(Random(8));
    for (int i = 0; i < 50; ++i) {
      const double value = std::sin(i);
      seen.step(actions_of(seen, value));
      unseen.step(actions_of(unseen, value));
      seen.capsules();
    }
    EXPECT_EQ(copy_of(seen.observation()), copy_of(unseen.observation()));
  }
}

TEST_F(EnvironmentTest, AModelIsMadeOnce) {
  EXPECT_EQ(simulator(Robot::hopper), simulator(Robot::hopper, Version::v4));
  EXPECT_NE(simulator(Robot::hopper), simulator(Robot::hopper, Version::v5));
}

TEST_F(EnvironmentTest, WrongSizesAndNoNumbersAreRefused) {
  Environment env = environment(Robot::hopper);
  EXPECT_EQ(error_of([&] { env.step(std::vector<double>(4)); }), "hopper: 4 numbers of an action, expected 3");
  EXPECT_EQ(error_of([&] { env.step({}); }), "hopper: 0 numbers of an action, expected 3");
  EXPECT_EQ(error_of([&] {
              env.step(std::vector<double>{0, std::nan(""), 0});
            }),
            "hopper: number 2 of the action is nan");
  EXPECT_EQ(error_of([&] { env.set_state(std::vector<double>(5), std::vector<double>(6)); }),
            "hopper: 5 numbers of positions, expected 6");
  EXPECT_EQ(error_of([&] { env.set_state(std::vector<double>(6), std::vector<double>(7)); }),
            "hopper: 7 numbers of velocities, expected 6");
  EXPECT_EQ(env.steps(), 0);
}

class ModelFileTest : public primal::tests::FolderTest {
 protected:
  void SetUp() override {
    if (!has_simulator()) GTEST_SKIP() << "built without MuJoCo";
    ::setenv("PRIMAL_ROBOTS", folder.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("PRIMAL_ROBOTS"); }

  static std::string error() {
    return error_of([] { simulator(Robot::walker2d, Version::v5); });
  }
};

TEST_F(ModelFileTest, AMissingModelIsNamed) {
  EXPECT_EQ(error(), (folder / "walker2d_v5.xml").string() +
                         ": there is no such model of Walker2d (PRIMAL_ROBOTS may name the folder with gymnasium's XML "
                         "files)");
}

TEST_F(ModelFileTest, ABrokenModelIsNamedWithTheReason) {
  const auto file = write("walker2d_v5.xml", "<mujoco><worldbody><box/></worldbody></mujoco>");
  EXPECT_TRUE(contains(error(), file.string() + ": \"XML Error: Schema violation: unrecognized element"));
  EXPECT_EQ(error().find('\n'), std::string::npos);
}

TEST_F(ModelFileTest, AModelOfAnotherRobotIsRefused) {
  const auto file = write("walker2d_v5.xml",
                          "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='1'/></body></worldbody>"
                          "<actuator><motor joint='j'/></actuator></mujoco>");
  EXPECT_EQ(error(), file.string() + ": a model with 1 states and 1 actions, but Walker2d has 17 and 6");
}

}  // namespace
