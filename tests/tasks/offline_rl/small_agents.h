// Logged episodes in memory, and agents small enough to train on them within a test.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/trajectories/trajectories.h"
#include "tasks/offline_rl/config.h"
#include "tasks/offline_rl/offline_data.h"

namespace primal::tests {

/// Episodes of these lengths with random numbers, actions within 1; every other one ends by a fall.
inline data::Trajectories random_episodes(const std::vector<int64_t>& lengths, int64_t states = 11, int64_t actions = 3,
                                          uint64_t seed = 1) {
  base::Random random(seed);
  data::Trajectories all;
  all.state_size = states;
  all.action_size = actions;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length * states; ++i) all.states.push_back(static_cast<float>(2 + 3 * random.normal()));
    for (int64_t i = 0; i < length * actions; ++i) {
      all.actions.push_back(static_cast<float>(2 * random.uniform() - 1));
    }
    for (int64_t i = 0; i < length; ++i) all.rewards.push_back(static_cast<float>(random.normal()));
    all.episodes.push_back({all.rows() - length, all.rows(), all.episodes.size() % 2 == 1});
  }
  return all;
}

/// Of windows of four steps.
inline tasks::OfflineRlConfig small_agent(const std::vector<std::string>& layers = {"softmax", "primal"}) {
  tasks::OfflineRlConfig config;
  config.model.layers = layers;
  config.model.width = 8;
  config.model.heads = 2;
  config.model.feed_forward = 16;
  config.model.rank = {3};
  config.model.steps = 4;
  config.model.dropout = 0;
  config.model.norm_first = true;
  config.eval.episodes = 3;
  config.eval.quick_episodes = 2;
  config.run.threads = 1;
  return config;
}

inline tasks::OfflineRlConfig small_cloning() {
  tasks::OfflineRlConfig config = small_agent();
  config.model.agent = tasks::Agent::behaviour_cloning;
  return config;
}

/// Facts of episodes that could be a hopper's: states are nearly as they come.
inline tasks::OfflineFacts hopper_facts() {
  return {.name = "hopper-test",
          .robot = environments::Robot::hopper,
          .states = 11,
          .actions = 3,
          .mean = std::vector<double>(11, 0.25),
          .deviation = std::vector<double>(11, 2.0),
          .normalisation = {.name = "this set", .random_return = 10, .expert_return = 60},
          .targets = {100, 50},
          .data_returns = {20, 30}};
}

}  // namespace primal::tests
