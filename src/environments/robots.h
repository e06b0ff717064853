// The robots that there are, and what is known of them without a simulator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace primal::environments {

enum class Robot { half_cheetah, hopper, walker2d };

/// Of gymnasium's classes: v4 (as v2 and v3, with which D4RL was made), or v5.
enum class Version { v4, v5 };

struct RobotInfo {
  Robot robot;
  std::string_view name;            ///< as in names of data sets: "hopper"
  std::string_view title;           ///< for people: "Hopper"
  int64_t states, actions;          ///< numbers of an observation and of an action
  double step_seconds;              ///< of an action
  double d4rl_random, d4rl_expert;  ///< returns that score 0 and 100 on D4RL
};

constexpr int64_t kTimeLimit = 1000;  ///< steps of an episode at most

std::span<const RobotInfo> robots();
const RobotInfo& info(Robot robot);
/// Throws Error, which `where` begins, that lists the names.
Robot robot_named(std::string_view name, const std::string& where);

}  // namespace primal::environments
