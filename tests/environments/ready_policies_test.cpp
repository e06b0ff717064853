// The policies that come with the project, configs/offline-rl/policies/.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "environments/robot_policies.h"

namespace {

using namespace primal::environments;

class ReadyPolicies : public testing::TestWithParam<Robot> {
 protected:
  static RobotPolicies policies() {
    const std::string name(info(GetParam()).name);
    return read_policies(
        std::filesystem::path(PRIMAL_GOLDEN_DIR) / "../../configs/offline-rl/policies" / (name + ".json"), GetParam());
  }
};

TEST_P(ReadyPolicies, AreAnExpertAndOneAtAThirdOfTheWay) {
  const RobotPolicies robot = policies();
  EXPECT_NEAR(robot.score(robot.medium.returns.mean), 100.0 / 3, 7);
  EXPECT_GE(robot.expert.returns.episodes, 100);
  EXPECT_GT(robot.expert.policy.noise, 0) << "data of policies without noise measure how brittle these are";
}

// Few episodes, so a mean may be some of its deviations off. Another machine may round otherwise: then they are others.
TEST_P(ReadyPolicies, EarnWhatTheirFileSays) {
  if (!has_simulator()) GTEST_SKIP() << "built without MuJoCo";
  constexpr int64_t kEpisodes = 6;
  const RobotPolicies robot = policies();
  const auto check = [](const Returns& played, const Returns& said) {
    EXPECT_NEAR(played.mean, said.mean, 5 * said.deviation / std::sqrt(static_cast<double>(kEpisodes)));
  };
  const auto played = [&](const Player& player, const LinearPolicy& policy) {
    return measured(player, policy, /*seed=*/7, Draw::evaluation, kEpisodes, /*threads=*/2);
  };
  const Player player = policy_player(simulator(GetParam()));
  check(played(player, robot.medium.policy), robot.medium.returns);
  check(played(player, robot.expert.policy), robot.expert.returns);
  check(played(player, robot.expert.policy.without_noise()), robot.expert.without_noise);
  check(played(random_player(simulator(GetParam())), {}), robot.random);
}

INSTANTIATE_TEST_SUITE_P(Robots, ReadyPolicies, testing::Values(Robot::half_cheetah, Robot::hopper, Robot::walker2d),
                         [](const auto& test) { return std::string(primal::environments::info(test.param).name); });

}  // namespace
