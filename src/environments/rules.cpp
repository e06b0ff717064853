#include "environments/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace primal::environments {
namespace {

bool all_within(std::span<const double> values, double limit) {
  return std::ranges::all_of(values, [&](double value) { return std::abs(value) < limit; });
}

}  // namespace

Rules rules(Robot robot, Version version) {
  const bool v5 = version == Version::v5;
  switch (robot) {
    case Robot::half_cheetah:
      return {"half_cheetah.xml", 5, 0.1, 0, false, std::numeric_limits<double>::infinity(), 0.1, true};
    case Robot::hopper:
      return {"hopper.xml", 4, 1e-3, 1, !v5, 10, 0.005, false};
    case Robot::walker2d:
      break;
  }
  // The feet of the older model differ in friction, by an oversight that v5 mends.
  return {v5 ? "walker2d_v5.xml" : "walker2d.xml", 4, 1e-3, 1, !v5, 10, 0.005, false};
}

bool is_upright(Robot robot, std::span<const double> positions, std::span<const double> velocities) {
  if (robot == Robot::half_cheetah) return true;  // it may roll over and go on
  const double height = positions[1], pitch = positions[2];
  if (robot == Robot::walker2d) return height > 0.8 && height < 2 && std::abs(pitch) < 1;
  return height > 0.7 && std::abs(pitch) < 0.2 && all_within(positions.subspan(2), 100) && all_within(velocities, 100);
}

double reward(const Rules& rules, double velocity, std::span<const double> action, bool upright) {
  double squares = 0;
  for (const double value : action) squares += value * value;
  const double alive = upright || rules.alive_when_fallen ? rules.alive_reward : 0;
  return velocity + alive - rules.control_cost * squares;
}

void observe(const Rules& rules, std::span<const double> positions, std::span<const double> velocities,
             std::span<double> observation) {
  const auto rest = std::ranges::copy(positions.subspan(1), observation.begin()).out;
  std::ranges::transform(velocities, rest, [&](double velocity) {
    return std::clamp(velocity, -rules.velocity_limit, rules.velocity_limit);
  });
}

void add_start_noise(const Rules& rules, base::Random& random, std::span<double> positions,
                     std::span<double> velocities) {
  const auto uniform = [&] { return rules.start_noise * (2 * random.uniform() - 1); };
  for (double& position : positions) position += uniform();
  for (double& velocity : velocities) {
    velocity += rules.normal_velocities ? rules.start_noise * random.normal() : uniform();
  }
}

}  // namespace primal::environments
