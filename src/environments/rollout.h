// Episodes played by a policy, and what they earn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/json_fields.h"
#include "base/random.h"
#include "environments/environment.h"
#include "environments/linear_policy.h"
#include "environments/moments.h"

namespace primal::environments {

/// One episode.
struct Rollout {
  std::vector<float> states;       ///< [steps, states], before the action
  std::vector<float> actions;      ///< [steps, actions], as the robot took them: in [-1, 1]
  std::vector<float> rewards;      ///< [steps]
  std::vector<float> next_states;  ///< [steps, states], after the action
  Moments seen{0};                 ///< of the states before an action, unrounded
  double total = 0;                ///< of the rewards, unrounded
  bool terminated = false;         ///< the robot fell; else the time was up

  int64_t steps() const { return std::ssize(rewards); }
};

/// Plays one episode, whose start and noise are drawn from `random`: the same numbers, the same episode.
using Player = std::function<Rollout(const LinearPolicy& policy, base::Random random)>;

Player policy_player(std::shared_ptr<const Simulator> simulator);
/// Every action uniform on [-1, 1]; the policy is not asked.
Player random_player(std::shared_ptr<const Simulator> simulator);

/// What the random numbers of a seed are for: keeps those of different reasons apart.
enum class Draw : uint64_t { run = 40, directions, rollouts, evaluation, selection, measuring, medium, expert, random };
base::Random drawn(uint64_t seed, Draw draw, int64_t number);

/// Episodes number `first` and on, in parallel; in their order, whatever the number of threads.
std::vector<Rollout> play_episodes(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw,
                                   int64_t first, int64_t count, int64_t threads);

/// Returns of some episodes of one policy.
struct Returns {
  double mean = 0, deviation = 0;  ///< of the sample
  double steps = 0;                ///< of an episode, mean
  int64_t episodes = 0;

  bool operator==(const Returns&) const = default;
};

Returns returns_of(std::span<const Rollout> rollouts);
/// Of fresh episodes, which nothing was chosen by.
Returns measured(const Player& player, const LinearPolicy& policy, uint64_t seed, Draw draw, int64_t episodes,
                 int64_t threads);

nlohmann::json to_json(const Returns& returns);
Returns returns_of(const base::Fields& fields);

}  // namespace primal::environments
