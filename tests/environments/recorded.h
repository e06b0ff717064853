// Trajectories recorded from gymnasium's own classes, and environments to replay them in.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_file.h"
#include "environments/environment.h"

namespace primal::tests {

struct Recorded {
  std::vector<double> positions, velocities;  // at the start
  std::vector<double> first;                  // observation there
  std::vector<std::vector<double>> actions;
  std::vector<double> rewards;
  std::vector<int> terminated;
  std::vector<std::vector<double>> observations;  // of every eighth step, the last one among them
};

inline Recorded recorded(environments::Robot robot, environments::Version version) {
  const std::string name =
      std::string(environments::info(robot).name) + (version == environments::Version::v4 ? "-v4" : "-v5") + ".json";
  const nlohmann::json file =
      base::read_json(std::filesystem::path(PRIMAL_GOLDEN_DIR) / ".." / "fixtures" / "robots" / name);
  return {file["positions"], file["velocities"], file["first"],       file["actions"],
          file["rewards"],   file["terminated"], file["observations"]};
}

/// Of tests that need the simulator.
class RobotTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!environments::has_simulator()) GTEST_SKIP() << "built without MuJoCo";
  }
};

inline environments::Environment environment(environments::Robot robot,
                                             environments::Version version = environments::Version::v4) {
  return environments::Environment(environments::simulator(robot, version));
}

inline std::vector<double> copy_of(std::span<const double> numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace primal::tests
