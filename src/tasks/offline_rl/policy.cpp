#include "tasks/offline_rl/policy.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/text.h"
#include "models/behaviour_cloning.h"

namespace primal::tasks {

namespace {

torch::Tensor spread(const torch::Tensor& values, const torch::Tensor& live, int64_t episodes) {
  torch::Tensor all = at::zeros({episodes, values.size(1)});
  all.index_copy_(0, live, values);
  return all;
}

/// The last steps of every episode, seen anew in every step.
class WindowActor : public Actor {
 public:
  WindowActor(Policy& policy, const OfflineRlConfig& config, at::IntArrayRef sizes)
      : policy_(policy),
        context_(config.model.steps),
        history_{.states = at::zeros({sizes[0], sizes[1], sizes[2]}),
                 .actions = at::zeros({sizes[0], sizes[1], sizes[3]}),
                 .returns_to_go = at::zeros({sizes[0], sizes[1]}),
                 .timesteps = at::arange(sizes[1]).expand({sizes[0], sizes[1]})} {}

  torch::Tensor act(const torch::Tensor& states, const torch::Tensor& returns_to_go,
                    const torch::Tensor& live) override {
    history_.states.select(1, step_).copy_(states);
    history_.returns_to_go.select(1, step_).copy_(returns_to_go);
    const int64_t first = std::max<int64_t>(0, step_ + 1 - context_), size = step_ + 1 - first;
    const auto seen = [&](const torch::Tensor& all) { return all.narrow(1, first, size).index_select(0, live); };
    const torch::Tensor actions = policy_.last_action({.states = seen(history_.states),
                                                       .actions = seen(history_.actions),
                                                       .returns_to_go = seen(history_.returns_to_go),
                                                       .timesteps = seen(history_.timesteps)});
    const torch::Tensor all = spread(actions, live, states.size(0));
    history_.actions.select(1, step_).copy_(all);
    ++step_;
    return all;
  }

 private:
  Policy& policy_;
  int64_t context_;
  models::DecisionWindows history_;  // what has not been yet is 0
  int64_t step_ = 0;
};

/// The whole episodes, in the state of the decoder.
class EpisodeActor : public Actor {
 public:
  EpisodeActor(models::DecisionTransformer model, int64_t episodes)
      : model_(std::move(model)), state_(model_->initial_state(episodes)) {}

  // Those that have ended go on inside the state, and nobody looks.
  torch::Tensor act(const torch::Tensor& states, const torch::Tensor& returns_to_go,
                    const torch::Tensor& live) override {
    const torch::Tensor actions =
        model_->step({.returns_to_go = returns_to_go, .states = states, .previous_actions = before_}, state_);
    before_ = spread(actions.index_select(0, live), live, states.size(0));
    return *before_;
  }

 private:
  models::DecisionTransformer model_;
  models::DecisionState state_;
  std::optional<torch::Tensor> before_;
};

class DecisionPolicy : public Policy {
 public:
  DecisionPolicy(const OfflineRlConfig& config, int64_t states, int64_t actions)
      : config_(config), model_(decision_options(config, states, actions)) {
    if (config.eval.context == Context::episode) check_remembers_episodes();
  }

  torch::nn::Module& model() override { return *model_; }
  PolicyOutput forward(const models::DecisionWindows& windows) override {
    models::DecisionOutput output = model_->forward(windows);
    return {output.actions, std::move(output.terms)};
  }
  torch::Tensor last_action(const models::DecisionWindows& windows) override { return model_->last_action(windows); }
  std::unique_ptr<Actor> actor(int64_t episodes, int64_t steps) override {
    if (config_.eval.context == Context::episode) return std::make_unique<EpisodeActor>(model_, episodes);
    const models::DecisionOptions& options = model_->options();
    return std::make_unique<WindowActor>(*this, config_, std::array{episodes, steps, options.states, options.actions});
  }
  bool takes_targets() const override { return true; }

 private:
  void check_remembers_episodes() const {
    constexpr int64_t kEpisodeTokens = 3 * environments::kTimeLimit;
    const int64_t most = model_->encoder->most_tokens().value_or(kEpisodeTokens);
    if (most >= kEpisodeTokens) return;
    base::fail("eval.context", "expected window, as one of model.layers goes on for ", most,
               " tokens and an episode has ", kEpisodeTokens, ", got episode");
  }

  OfflineRlConfig config_;
  models::DecisionTransformer model_;
};

class CloningPolicy : public Policy {
 public:
  CloningPolicy(const OfflineRlConfig& config, int64_t states, int64_t actions)
      : config_(config),
        model_(models::CloningOptions{.states = states,
                                      .actions = actions,
                                      .steps = config.model.steps,
                                      .width = config.model.width,
                                      .layers = config.model.hidden_layers,
                                      .dropout = config.model.dropout}) {}

  torch::nn::Module& model() override { return *model_; }
  PolicyOutput forward(const models::DecisionWindows& windows) override {
    return {model_->forward(windows.states, windows.padding)};
  }
  std::unique_ptr<Actor> actor(int64_t episodes, int64_t steps) override {
    const models::CloningOptions& options = model_->options();
    return std::make_unique<WindowActor>(*this, config_, std::array{episodes, steps, options.states, options.actions});
  }
  bool takes_targets() const override { return false; }

 private:
  OfflineRlConfig config_;
  models::BehaviourCloning model_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(const OfflineRlConfig& config, int64_t states, int64_t actions) {
  if (config.is_cloning()) return std::make_unique<CloningPolicy>(config, states, actions);
  return std::make_unique<DecisionPolicy>(config, states, actions);
}

}  // namespace primal::tasks
