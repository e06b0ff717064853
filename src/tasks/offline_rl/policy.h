// What can be trained to act: a model with its loss, and its way to choose actions in episodes.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <vector>

#include "models/decision_transformer.h"
#include "tasks/offline_rl/config.h"

namespace primal::tasks {

/// Acts in episodes side by side, all of them at the same step, from the first on. Without gradient.
class Actor {
 public:
  virtual ~Actor() = default;
  /// states: [E, S] standardised; returns_to_go: [E], in units of the scale; live: [L] int64, the episodes that have
  /// not ended -> actions [E, A], 0 for those that have
  virtual torch::Tensor act(const torch::Tensor& states, const torch::Tensor& returns_to_go,
                            const torch::Tensor& live) = 0;
};

struct PolicyOutput {
  torch::Tensor actions;              ///< [B, K, A]
  std::vector<KsvdTerms> terms = {};  ///< one per primal layer
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual torch::nn::Module& model() = 0;
  /// The action for each step of the windows.
  virtual PolicyOutput forward(const models::DecisionWindows& windows) = 0;
  /// That of the last step alone, [B, A].
  virtual torch::Tensor last_action(const models::DecisionWindows& windows) {
    return forward(windows).actions.select(1, -1);
  }
  /// For so many episodes of at most `steps` steps. The policy must outlive it.
  virtual std::unique_ptr<Actor> actor(int64_t episodes, int64_t steps) = 0;
  /// Whether it is asked for a return.
  virtual bool takes_targets() const = 0;
};

/// Initialised by LibTorch's generator. states, actions: numbers of each
std::unique_ptr<Policy> make_policy(const OfflineRlConfig& config, int64_t states, int64_t actions);

}  // namespace primal::tasks
