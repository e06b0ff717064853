// Episodes frame by frame.
#include "tasks/offline_rl/animations.h"

#include <gtest/gtest.h>

#include "tasks/offline_rl/played_hopper.h"

namespace primal::tasks {
namespace {

using environments::Robot;
using environments::Version;
using tests::ConstantPolicy;

class AnimationsTest : public tests::PlayedHopperTest {
 protected:
  // Three of the first target, whose returns are given, and three of another that earned more.
  std::vector<PlayedEpisode> some_episodes(const std::vector<double>& returns) {
    ConstantPolicy policy(0.5, 3);
    auto episodes = played(policy, {.targets = {100, 50}, .episodes = std::ssize(returns), .keep_positions = true});
    for (size_t i = 0; i < episodes.size(); ++i) {
      episodes[i].earned = i < returns.size() ? returns[i] : 1e6;
    }
    return episodes;
  }
  static std::vector<std::string> titles(const std::vector<run::Animation>& animations) {
    std::vector<std::string> titles;
    for (const run::Animation& animation : animations) titles.push_back(animation.title);
    return titles;
  }
};

TEST_F(AnimationsTest, AreTheBestTheMedianAndTheWorstOfTheFirstTarget) {
  const auto animations = animations_of(some_episodes({4, 9, -1, 7, 2}), Robot::hopper, Version::v4);
  EXPECT_EQ(titles(animations), (std::vector<std::string>{"best", "median", "worst"}));
  EXPECT_EQ(animations[0].earned, 9);
  EXPECT_EQ(animations[1].earned, 4);
  EXPECT_EQ(animations[2].earned, -1);
  for (const run::Animation& animation : animations) EXPECT_EQ(animation.target, 100);
}

TEST_F(AnimationsTest, OfFewEpisodesAreFewer) {
  const auto of = [&](const std::vector<double>& returns) {
    return titles(animations_of(some_episodes(returns), Robot::hopper, Version::v4));
  };
  EXPECT_EQ(of({4, 9}), (std::vector<std::string>{"best", "worst"}));
  EXPECT_EQ(of({4}), (std::vector<std::string>{"best"}));
  EXPECT_TRUE(animations_of({}, Robot::hopper, Version::v4).empty());
}

TEST_F(AnimationsTest, WithoutPositionsThereAreNone) {
  auto episodes = some_episodes({4, 9, 3});
  for (PlayedEpisode& episode : episodes) episode.positions.clear();
  EXPECT_TRUE(animations_of(episodes, Robot::hopper, Version::v4).empty());
}

TEST_F(AnimationsTest, FramesShowTheRobotWhereItWas) {
  const auto episodes = some_episodes({4});
  const run::Animation animation = animations_of(episodes, Robot::hopper, Version::v4).front();
  const int64_t every = animation.frame_steps;
  EXPECT_EQ(every, 5) << "of 8 ms";
  EXPECT_NEAR(animation.frame_seconds, 0.04, 1e-12);
  EXPECT_EQ(animation.steps, episodes[0].steps);
  ASSERT_EQ(std::ssize(animation.frames), episodes[0].steps / every + 1);
  environments::Environment robot(environments::simulator(Robot::hopper));
  for (size_t i = 0; i < animation.frames.size(); ++i) {
    const std::span positions = std::span(episodes[0].positions).subspan(i * static_cast<size_t>(every) * 6, 6);
    robot.set_state(positions, std::vector<double>(6, 0.0));
    const auto capsules = robot.capsules();
    ASSERT_EQ(animation.frames[i].size(), 4 * capsules.size());
    ASSERT_EQ(animation.radii.size(), capsules.size());
    for (size_t j = 0; j < capsules.size(); ++j) {
      EXPECT_EQ(animation.radii[j], capsules[j].radius);
      EXPECT_EQ(animation.frames[i][4 * j], capsules[j].x1);
      EXPECT_EQ(animation.frames[i][4 * j + 3], capsules[j].z2);
    }
  }
}

}  // namespace
}  // namespace primal::tasks
