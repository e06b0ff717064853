// How long an agent takes to play episodes of HalfCheetah, which never falls: each has 1000 steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "decision_step/agent.h"

namespace primal::bench {

struct RolloutOptions {
  tasks::Context context = tasks::Context::window;
  int64_t episodes = 10;  ///< side by side
  int64_t rounds = 3;     ///< that are timed, after one that is not
  int64_t threads = 1;
};

struct RolloutSeconds {
  std::vector<double> all;          ///< of each round
  std::vector<double> environment;  ///< what of it was not the agent's
};

/// Of an agent that has learnt nothing: what it does hardly matters for the time. Throws Error without MuJoCo.
RolloutSeconds measure_rollouts(const DecisionSizes& sizes, const RolloutOptions& options);

/// Writes a safetensors file of the first `steps` steps: the parameters by their names, and what the agent saw and did
/// in each as "seen.states" [steps, E, S], "seen.returns_to_go" [steps, E] and "done.actions" [steps, E, A].
void save_rollouts(const DecisionSizes& sizes, const RolloutOptions& options, int64_t steps,
                   const std::filesystem::path& path);

}  // namespace primal::bench
