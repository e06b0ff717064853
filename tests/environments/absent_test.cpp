// What a build without MuJoCo answers. A program of its own: the stand-in takes the place of the simulator.
#include <gtest/gtest.h>

#include "environments/batch.h"
#include "environments/environment.h"
#include "support/errors.h"

namespace {

using namespace primal::environments;
using primal::tests::error_of;

TEST(WithoutMuJoCo, RobotsAreKnownByName) {
  EXPECT_FALSE(has_simulator());
  EXPECT_EQ(info(robot_named("walker2d", "here")).states, 17);
}

TEST(WithoutMuJoCo, TheErrorSaysHowToGetIt) {
  const std::string message =
      "robots: primal was built without MuJoCo; `./primal train offline-rl/...` sets it up, or install "
      "tools/requirements-robots.txt and build again";
  EXPECT_EQ(error_of([] { simulator(Robot::hopper); }), message);
  EXPECT_EQ(error_of([] { Environment(nullptr); }), message);
  EXPECT_EQ(error_of([] { EnvironmentBatch(nullptr, 2, 1); }), message);
}

}  // namespace
