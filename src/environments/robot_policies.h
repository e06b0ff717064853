// The policies that data sets of a robot are recorded with: a middling one and an expert, and what they earn.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "environments/ars_training.h"
#include "environments/linear_policy.h"
#include "environments/robots.h"
#include "environments/rollout.h"

namespace primal::environments {

struct MeasuredPolicy {
  LinearPolicy policy{};
  int64_t run = 0, iteration = 0, steps = 0;  ///< of the training
  Returns returns{};                          ///< with its action noise, over fresh episodes
  Returns without_noise{};
};

struct RobotPolicies {
  Robot robot = Robot::hopper;
  MeasuredPolicy medium{}, expert{};
  Returns random{};       ///< of uniform actions
  nlohmann::json made{};  ///< how they came about

  /// 0 for random actions, 100 for the expert.
  double score(double episode_return) const;
};

/// How many fresh episodes decide, and how many measure what was decided.
struct Judging {
  int64_t candidates = 6;  ///< snapshots that are looked at again, for each of the two
  int64_t episodes = 50;   ///< of each
  int64_t measuring = 200;
};

/// Of the snapshots of a training: the best one, and the one nearest to a third of the way from random to it, as D4RL
/// has it. Fresh episodes decide, others measure. Nothing if it was stopped.
std::optional<RobotPolicies> chosen_policies(Robot robot, const ArsTraining& training, const Player& player,
                                             const Player& at_random, uint64_t seed, const Judging& judging,
                                             const Work& work);

nlohmann::json to_json(const MeasuredPolicy& policy);
nlohmann::json to_json(const RobotPolicies& policies);
/// The JSON as people like to look at it: a line for each field of each policy.
std::string file_text(const RobotPolicies& policies);
/// Throws Error that names the file, if it is of another robot or not complete.
RobotPolicies read_policies(const std::filesystem::path& file, Robot robot);

}  // namespace primal::environments
