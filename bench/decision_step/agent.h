// The agent that is measured, and windows of made-up episodes for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/decision_transformer.h"
#include "tasks/offline_rl/config.h"
#include "tasks/offline_rl/offline_data.h"
#include "tasks/offline_rl/policy.h"

namespace primal::bench {

/// Those of configs/offline-rl/halfcheetah-medium-v2.toml.
struct DecisionSizes {
  std::vector<std::string> layers{};  ///< kinds of attention
  int64_t width = 256, heads = 4, feed_forward = 1024;
  int64_t rank = 64;  ///< of primal layers
  int64_t steps = 20;
  int64_t states = 17, actions = 6;  ///< numbers of each: HalfCheetah's
  double dropout = 0.1, attention_dropout = 0.1;
};

tasks::OfflineRlConfig agent_config(const DecisionSizes& sizes);
std::unique_ptr<tasks::Policy> make_agent(const DecisionSizes& sizes);

/// Made-up episodes of full length.
tasks::Episodes random_episodes(const DecisionSizes& sizes);

/// Windows of `steps` steps that begin at random rows. One of them at least reaches beyond the end of its episode: of
/// 64 that are drawn from real episodes, that is so in two batches of three.
models::DecisionWindows random_windows(const tasks::Episodes& episodes, int64_t steps, int64_t count);

}  // namespace primal::bench
