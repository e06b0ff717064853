#include "environments/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "environments/robots.h"
#include "support/errors.h"

namespace {

using namespace primal::environments;
using primal::tests::error_of;

bool upright(Robot robot, double height, double pitch, double other = 0, double velocity = 0) {
  return is_upright(robot, std::array{5.0, height, pitch, other}, std::array{0.0, velocity});
}

TEST(Robots, AreFoundByName) {
  for (const RobotInfo& robot : robots()) {
    EXPECT_EQ(robot_named(robot.name, "here"), robot.robot);
    EXPECT_EQ(&info(robot.robot), &robot);
  }
  EXPECT_EQ(error_of([] { robot_named("hoper", "data/x"); }),
            "data/x: there is no robot \"hoper\", expected one of halfcheetah, hopper, walker2d");
}

TEST(Rules, TheBoundsOfStandingAreNoLongerStanding) {
  EXPECT_TRUE(upright(Robot::hopper, 0.701, 0.199));
  EXPECT_FALSE(upright(Robot::hopper, 0.7, 0));
  EXPECT_FALSE(upright(Robot::hopper, 1, 0.2));
  EXPECT_FALSE(upright(Robot::hopper, 1, -0.2));
  EXPECT_TRUE(upright(Robot::walker2d, 1.999, -0.999));
  EXPECT_FALSE(upright(Robot::walker2d, 0.8, 0));
  EXPECT_FALSE(upright(Robot::walker2d, 2, 0));
  EXPECT_FALSE(upright(Robot::walker2d, 1, 1));
  EXPECT_TRUE(upright(Robot::half_cheetah, -1, 3));
}

TEST(Rules, AHopperWhoseNumbersRunAwayHasFallen) {
  EXPECT_TRUE(upright(Robot::hopper, 1, 0, 99, -99));
  EXPECT_FALSE(upright(Robot::hopper, 1, 0, 100));
  EXPECT_FALSE(upright(Robot::hopper, 1, 0, 0, -100));
  EXPECT_FALSE(upright(Robot::hopper, 1, 0, std::nan("")));
  EXPECT_TRUE(upright(Robot::walker2d, 1, 0, 100, 100));
}

TEST(Rules, TheLastStepIsPaidForBeingAliveUntilVersion4) {
  const std::array action = {1.0, -0.5, 0.0};
  const Rules v4 = rules(Robot::hopper, Version::v4), v5 = rules(Robot::hopper, Version::v5);
  EXPECT_DOUBLE_EQ(reward(v4, 2, action, true), 2 + 1 - 1.25e-3);
  EXPECT_DOUBLE_EQ(reward(v5, 2, action, true), 2 + 1 - 1.25e-3);
  EXPECT_DOUBLE_EQ(reward(v4, 2, action, false), 2 + 1 - 1.25e-3);
  EXPECT_DOUBLE_EQ(reward(v5, 2, action, false), 2 - 1.25e-3);
  EXPECT_DOUBLE_EQ(reward(rules(Robot::half_cheetah, Version::v4), 2, action, true), 2 - 0.125);
}

TEST(Rules, VelocitiesAreClippedInObservationsButThoseOfTheCheetah) {
  const std::array positions = {1.0, 2.0}, velocities = {-11.0, 9.0};
  std::array<double, 3> observation{};
  observe(rules(Robot::hopper, Version::v4), positions, velocities, observation);
  EXPECT_EQ(observation, (std::array{2.0, -10.0, 9.0}));
  observe(rules(Robot::half_cheetah, Version::v4), positions, velocities, observation);
  EXPECT_EQ(observation, (std::array{2.0, -11.0, 9.0}));
}

TEST(Rules, StartsAreSpreadAsTheyShould) {
  constexpr int kStarts = 4000;
  for (const RobotInfo& robot : robots()) {
    const Rules r = rules(robot.robot, Version::v4);
    primal::base::Random random(7);
    double most = 0, position_squares = 0, velocity_squares = 0;
    for (int i = 0; i < kStarts; ++i) {
      std::array position = {1.0}, velocity = {0.0};
      add_start_noise(r, random, position, velocity);
      most = std::max(most, std::abs(position[0] - 1));
      position_squares += (position[0] - 1) * (position[0] - 1) / kStarts;
      velocity_squares += velocity[0] * velocity[0] / kStarts;
    }
    EXPECT_LE(most, r.start_noise);
    EXPECT_GT(most, 0.99 * r.start_noise);
    EXPECT_NEAR(std::sqrt(3 * position_squares) / r.start_noise, 1, 0.03);
    EXPECT_NEAR(std::sqrt((r.normal_velocities ? 1 : 3) * velocity_squares) / r.start_noise, 1, 0.05);
  }
}

}  // namespace
