// Robots in MuJoCo, step by step. All of them throw Error, which says how to get it, where primal was built without
// MuJoCo.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "environments/robots.h"

namespace primal::environments {

/// The compiled model of a robot, constant, shared by any number of environments and threads.
class Simulator;

/// Whether primal was built with MuJoCo.
bool has_simulator();
/// Made once for each robot and version and kept. Throws Error if its XML file is not found.
std::shared_ptr<const Simulator> simulator(Robot robot, Version version = Version::v4);

struct StepResult {
  double reward = 0;
  bool terminated = false;  ///< fell over
  bool truncated = false;   ///< by the time limit
  bool ended() const { return terminated || truncated; }
};

/// A line with round ends, seen from the side: x forward, z up; of one frame of an episode.
struct Capsule {
  double x1, z1, x2, z2, radius;
};

/// One robot in one episode.
class Environment {
 public:
  explicit Environment(std::shared_ptr<const Simulator> simulator);
  ~Environment();
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;

  const RobotInfo& robot() const;
  /// A new episode, its start drawn from `random`: the same numbers, the same start.
  void reset(base::Random random);
  /// A state that is known: positions and velocities, as MuJoCo has them; for tests.
  void set_state(std::span<const double> positions, std::span<const double> velocities);
  /// The action is clipped to [-1, 1] first, as in D4RL.
  StepResult step(std::span<const double> action);
  std::span<const double> observation() const;  ///< [states]
  std::span<const double> positions() const;
  std::span<const double> velocities() const;
  int64_t steps() const;  ///< of this episode
  std::vector<Capsule> capsules() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace primal::environments
