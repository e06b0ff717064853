#include "decision_step/rollouts.h"

#include <ATen/ATen.h>

#include <functional>
#include <utility>

#include "measure.h"
#include "models/module_tensors.h"
#include "primal/safetensors.h"
#include "tasks/offline_rl/rollouts.h"

namespace primal::bench {

namespace {

constexpr double kTarget = 12'000;  // published for HalfCheetah

/// A step of all episodes.
struct Act {
  const torch::Tensor &states, &returns_to_go, &actions;
  double seconds;
};
using Watch = std::function<void(const Act&)>;

class WatchedActor : public tasks::Actor {
 public:
  WatchedActor(std::unique_ptr<tasks::Actor> actor, const Watch& watch) : actor_(std::move(actor)), watch_(watch) {}

  torch::Tensor act(const torch::Tensor& states, const torch::Tensor& returns_to_go,
                    const torch::Tensor& live) override {
    torch::Tensor actions;
    const double seconds = seconds_of([&] { actions = actor_->act(states, returns_to_go, live); });
    watch_({states, returns_to_go, actions, seconds});
    return actions;
  }

 private:
  std::unique_ptr<tasks::Actor> actor_;
  const Watch& watch_;
};

/// The same agent; somebody looks on.
class WatchedAgent : public tasks::Policy {
 public:
  WatchedAgent(tasks::Policy& agent, Watch watch) : agent_(agent), watch_(std::move(watch)) {}

  torch::nn::Module& model() override { return agent_.model(); }
  tasks::PolicyOutput forward(const models::DecisionWindows& windows) override { return agent_.forward(windows); }
  std::unique_ptr<tasks::Actor> actor(int64_t episodes, int64_t steps) override {
    return std::make_unique<WatchedActor>(agent_.actor(episodes, steps), watch_);
  }
  bool takes_targets() const override { return agent_.takes_targets(); }

 private:
  tasks::Policy& agent_;
  Watch watch_;
};

/// An agent in its world.
struct Scene {
  Scene(const DecisionSizes& sizes, const RolloutOptions& options) : config(agent_config(sizes)) {
    config.eval.context = options.context;
    agent = tasks::make_policy(config, sizes.states, sizes.actions);
    agent->model().eval();
    facts = {.name = "halfcheetah",
             .robot = environments::Robot::half_cheetah,
             .states = sizes.states,
             .actions = sizes.actions,
             .mean = std::vector<double>(static_cast<size_t>(sizes.states), 0),
             .deviation = std::vector<double>(static_cast<size_t>(sizes.states), 1)};
  }

  void play(int64_t episodes, int64_t threads, Watch watch) const {
    WatchedAgent watched(*agent, std::move(watch));
    tasks::play(watched, facts, config, {.targets = {kTarget}, .episodes = episodes, .threads = threads});
  }

  tasks::OfflineRlConfig config;
  std::unique_ptr<tasks::Policy> agent;
  tasks::OfflineFacts facts;
};

}  // namespace

RolloutSeconds measure_rollouts(const DecisionSizes& sizes, const RolloutOptions& options) {
  const Scene scene(sizes, options);
  scene.play(1, options.threads, [](const Act&) {});
  RolloutSeconds seconds;
  for (int64_t round = 0; round < options.rounds; ++round) {
    double of_agent = 0;
    const auto add = [&](const Act& act) { of_agent += act.seconds; };
    seconds.all.push_back(seconds_of([&] { scene.play(options.episodes, options.threads, add); }));
    seconds.environment.push_back(seconds.all.back() - of_agent);
  }
  return seconds;
}

void save_rollouts(const DecisionSizes& sizes, const RolloutOptions& options, int64_t steps,
                   const std::filesystem::path& path) {
  const Scene scene(sizes, options);
  std::vector<torch::Tensor> states, returns_to_go, actions;
  scene.play(options.episodes, options.threads, [&](const Act& act) {
    if (std::ssize(states) == steps) return;
    states.push_back(act.states);
    returns_to_go.push_back(act.returns_to_go.clone());  // the player counts on in it
    actions.push_back(act.actions);
  });
  models::Tensors tensors = models::tensors_of(scene.agent->model());
  tensors["seen.states"] = at::stack(states);
  tensors["seen.returns_to_go"] = at::stack(returns_to_go);
  tensors["done.actions"] = at::stack(actions);
  save_safetensors(path, tensors);
}

}  // namespace primal::bench
