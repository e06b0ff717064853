#include "environments/robots.h"

#include <array>
#include <cstddef>

#include "base/text.h"

namespace primal::environments {
namespace {

// The returns are those by which D4RL normalises: of uniformly random actions, and of its experts (SAC).
constexpr std::array<RobotInfo, 3> kRobots = {{
    {Robot::half_cheetah, "halfcheetah", "HalfCheetah", 17, 6, 0.05, -280.178953, 12135.0},
    {Robot::hopper, "hopper", "Hopper", 11, 3, 0.008, -20.272305, 3234.3},
    {Robot::walker2d, "walker2d", "Walker2d", 17, 6, 0.008, 1.629008, 4592.3},
}};

}  // namespace

std::span<const RobotInfo> robots() { return kRobots; }

const RobotInfo& info(Robot robot) { return kRobots[static_cast<std::size_t>(robot)]; }

Robot robot_named(std::string_view name, const std::string& where) {
  std::string all;
  for (const RobotInfo& known : kRobots) {
    if (known.name == name) return known.robot;
    all += (all.empty() ? "" : ", ") + std::string(known.name);
  }
  base::fail(where, "there is no robot ", base::in_quotes(name), ", expected one of ", all);
}

}  // namespace primal::environments
