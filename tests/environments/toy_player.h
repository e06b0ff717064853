// A robot of two numbers and one action, for tests of what learns: no simulator is needed.
#pragma once

#include <algorithm>
#include <vector>

#include "environments/ars.h"
#include "environments/rollout.h"

namespace primal::tests {

constexpr int64_t kToyStates = 2, kToyActions = 1, kToySteps = 20;

/// A ball on a line, whose force is the action: it sees its place and speed, and earns more the nearer it is to 0. It
/// starts beside it. An episode ends at step 20, or as a fall where the ball is 3 or more away.
inline environments::Rollout play_toy(const environments::LinearPolicy& policy, base::Random random) {
  environments::Rollout rollout;
  rollout.seen = environments::Moments(kToyStates);
  std::vector<double> state = {1 + random.uniform(), random.normal() / 10}, action(kToyActions);
  const auto append = [](std::vector<float>& numbers, const std::vector<double>& values) {
    for (const double value : values) numbers.push_back(static_cast<float>(value));
  };
  while (rollout.steps() < kToySteps && !rollout.terminated) {
    append(rollout.states, state);
    rollout.seen.add(state);
    policy.act(state, random, action);
    state[1] += 0.3 * action[0];
    state[0] += 0.3 * state[1];
    const double reward = 1 - std::min(state[0] * state[0], 4.0);
    append(rollout.actions, action);
    append(rollout.next_states, state);
    rollout.rewards.push_back(static_cast<float>(reward));
    rollout.total += reward;
    rollout.terminated = state[0] * state[0] >= 9;
  }
  return rollout;
}

inline environments::ArsOptions toy_options() {
  return {.directions = 4, .best = 2, .step_size = 0.1, .distance = 0.1, .action_noise = 0.05};
}

}  // namespace primal::tests
