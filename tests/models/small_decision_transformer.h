// Small Decision Transformers and windows for their tests.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "models/decision_transformer.h"

namespace primal::models {

inline constexpr int64_t kDecisionStates = 5, kDecisionActions = 3, kDecisionWidth = 16, kLongestEpisode = 30;

struct SmallDecision {
  std::vector<std::string> kinds = {"softmax", "primal"};
  Memory memory = Memory::mean;
  int64_t kernel = 0;
  bool all_heads = false;
};

inline DecisionOptions small_decision(const SmallDecision& small = {}) {
  DecisionOptions options{.states = kDecisionStates,
                          .actions = kDecisionActions,
                          .max_timestep = kLongestEpisode,
                          .all_heads = small.all_heads};
  for (const std::string& kind : small.kinds) {
    options.layers.push_back({.attention = {.kind = kind,
                                            .width = kDecisionWidth,
                                            .heads = 2,
                                            .causal = true,
                                            .tokens = 3 * kLongestEpisode,
                                            .primal = {.rank = 3, .memory = small.memory, .memory_tokens = 24}},
                              .feed_forward = 32,
                              .norm_first = true,
                              .activation = Activation::relu,
                              .kernel = small.kernel});
  }
  return options;
}

/// Steps that follow each other, of episodes that began at different times.
inline DecisionWindows random_windows(int64_t batch, int64_t steps, at::ScalarType dtype = at::kFloat) {
  return {.states = torch::randn({batch, steps, kDecisionStates}, dtype),
          .actions = torch::rand({batch, steps, kDecisionActions}, dtype) * 2 - 1,
          .returns_to_go = torch::randn({batch, steps}, dtype),
          .timesteps = torch::arange(batch).unsqueeze(1) + torch::arange(steps)};
}

}  // namespace primal::models
