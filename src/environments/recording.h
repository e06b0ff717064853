// Data sets of episodes, recorded with policies of our own: of D4RL's kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/trajectories/trajectories.h"
#include "environments/ars_training.h"
#include "environments/robot_policies.h"
#include "environments/robots.h"
#include "environments/rollout.h"

namespace primal::environments {

enum class DataKind {
  random,         ///< every action uniform on [-1, 1]
  medium,         ///< a policy that earns a third of what the expert does
  expert,         ///< the best policy
  medium_replay,  ///< all that was tried in a training up to a medium policy
  medium_expert,  ///< half of each
};

std::span<const DataKind> data_kinds();
std::string_view name_of(DataKind kind);  ///< "medium-replay"

struct Recording {
  data::Trajectories trajectories;
  std::vector<float> next_states;  ///< [rows, states]

  void add(const Rollout& rollout);
  void add(const Recording& more);
};

/// Episodes number 0 and on, until they have so many steps: the last one is whole, so there may be some more. Nothing
/// if it was stopped.
std::optional<Recording> record_episodes(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw,
                                         int64_t steps, const Work& work);

/// A training whose trials are kept.
struct ReplayOrder {
  ArsPlan plan;
  int64_t states = 0, actions = 0;
  uint64_t seed = 1;
  double goal = 0;                 ///< return of the policy at which it ends
  int64_t most_steps = 1'000'000;  ///< of a run; one that is not there by then is given up for the next
  int64_t kept_steps = 1'000'000;  ///< of the last trials, as a buffer forgets the oldest
};

struct Replay {
  Recording recording;
  int64_t run = 0, iterations = 0;
  int64_t steps = 0;   ///< of all trials, also of those no longer kept
  double reached = 0;  ///< return of the policy at the end
};

/// Throws Error if no run of the plan gets there. Nothing if it was stopped; then it begins anew, as it takes a minute.
std::optional<Replay> record_replay(const ReplayOrder& order, const Player& player, const Work& work);

/// What set, how large. A set is the same for the same order on every number of threads.
struct SetOrder {
  Robot robot = Robot::hopper;
  DataKind kind = DataKind::medium;
  int64_t steps = 0;  ///< about; 0: default_steps. Of medium-replay at most
  uint64_t seed = 1;
};

int64_t default_steps(DataKind kind);

/// With `made` that says all about it, also the returns that score 0 and 100. Nothing if it was stopped.
std::optional<Recording> record_set(const SetOrder& order, const RobotPolicies& policies, const Work& work);

}  // namespace primal::environments
