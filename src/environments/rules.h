// What a robot is asked to do: the constants and formulas of gymnasium's classes, without a simulator.
// Positions and velocities are those of all joints; positions[0] is x (forward), [1] z or its offset, [2] the pitch.
#pragma once

#include <span>

#include "base/random.h"
#include "environments/robots.h"

namespace primal::environments {

struct Rules {
  const char* file;        ///< the model, in gymnasium's folder of XML files
  int frame_skip;          ///< steps of the simulator for each action
  double control_cost;     ///< of the sum of squares of an action
  double alive_reward;     ///< for each step
  bool alive_when_fallen;  ///< whether the step that ends an episode is rewarded for being alive, too
  double velocity_limit;   ///< velocities are clipped to it in observations
  double start_noise;      ///< positions are uniform within it around those of the model
  bool normal_velocities;  ///< whether velocities are normal with that deviation at the start; else uniform as well
};

Rules rules(Robot robot, Version version);

/// False for one that has fallen, which ends the episode.
bool is_upright(Robot robot, std::span<const double> positions, std::span<const double> velocities);

/// For an action in [-1, 1] that moved the robot forward at `velocity`.
double reward(const Rules& rules, double velocity, std::span<const double> action, bool upright);

/// Positions but x, then velocities.
void observe(const Rules& rules, std::span<const double> positions, std::span<const double> velocities,
             std::span<double> observation);

/// Adds what is random of a start to the positions and velocities of the model.
void add_start_noise(const Rules& rules, base::Random& random, std::span<double> positions,
                     std::span<double> velocities);

}  // namespace primal::environments
