// Agents that play a hopper for tests.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <memory>
#include <utility>
#include <vector>

#include "environments/recorded.h"
#include "tasks/offline_rl/rollouts.h"
#include "tasks/offline_rl/small_agents.h"

namespace primal::tests {

/// Each action is a constant; keeps what it was shown.
class ConstantPolicy : public tasks::Policy {
 public:
  ConstantPolicy(double action, int64_t actions, bool takes_targets = true)
      : action_(action), actions_(actions), takes_targets_(takes_targets) {}

  torch::nn::Module& model() override { return nothing_; }
  tasks::PolicyOutput forward(const models::DecisionWindows&) override { return {}; }
  bool takes_targets() const override { return takes_targets_; }

  struct Shown {
    at::Tensor states, returns_to_go;
    std::vector<int64_t> live;
  };
  std::vector<Shown> shown;

  std::unique_ptr<tasks::Actor> actor(int64_t episodes, int64_t /*steps*/) override {
    class ConstantActor : public tasks::Actor {
     public:
      ConstantActor(ConstantPolicy& policy, int64_t episodes) : policy_(policy), episodes_(episodes) {}
      at::Tensor act(const at::Tensor& states, const at::Tensor& returns_to_go, const at::Tensor& live) override {
        std::vector<int64_t> numbers(live.data_ptr<int64_t>(), live.data_ptr<int64_t>() + live.numel());
        policy_.shown.push_back({states.clone(), returns_to_go.clone(), std::move(numbers)});
        return at::full({episodes_, policy_.actions_}, policy_.action_);
      }

     private:
      ConstantPolicy& policy_;
      int64_t episodes_;
    };
    return std::make_unique<ConstantActor>(*this, episodes);
  }

 private:
  torch::nn::Module nothing_;
  double action_;
  int64_t actions_;
  bool takes_targets_;
};

/// Agents of a size that no time is lost with.
class PlayedHopperTest : public RobotTest {
 protected:
  std::vector<tasks::PlayedEpisode> played(tasks::Policy& policy, const tasks::RolloutOrder& order) {
    policy.model().eval();
    return tasks::play(policy, facts, config, order);
  }
  std::unique_ptr<tasks::Policy> agent() {
    torch::manual_seed(7);
    return tasks::make_policy(config, 11, 3);
  }

  tasks::OfflineFacts facts = hopper_facts();
  tasks::OfflineRlConfig config = small_agent();
};

}  // namespace primal::tests
