#include "decision_step/jobs.h"

#include <ATen/ATen.h>

#include "models/action_error.h"
#include "models/module_tensors.h"
#include "primal/ksvd.h"
#include "primal/safetensors.h"
#include "train/optimizer.h"

namespace primal::bench {

namespace {

torch::Tensor loss_of(tasks::Policy& agent, const models::DecisionWindows& windows, const tasks::KsvdOptions& ksvd) {
  const auto [actions, terms] = agent.forward(windows);
  const torch::Tensor error = models::action_error(actions, windows.actions, windows.padding);
  return terms.empty() ? error : error + ksvd_loss(terms, ksvd.eta, ksvd.reduction);
}

train::Optimizer optimizer_of(const torch::nn::Module& model, const train::OptimizerOptions& options) {
  std::vector<train::Optimizer::Parameter> parameters;
  for (const auto& entry : model.named_parameters()) parameters.push_back({entry.key(), entry.value()});
  return {std::move(parameters), options};
}

class TrainingStep : public Job {
 public:
  explicit TrainingStep(const DecisionSizes& sizes)
      : config_(agent_config(sizes)),
        agent_(make_agent(sizes)),
        optimizer_(optimizer_of(agent_->model(), config_.optimizer)),
        episodes_(random_episodes(sizes)) {}

  void prepare(int64_t examples) override { windows_ = random_windows(episodes_, config_.model.steps, examples); }

  void run() override {
    optimizer_.zero_grad();
    loss_of(*agent_, windows_, config_.loss).backward();
    optimizer_.step(config_.optimizer.lr, train::clip_scale(optimizer_.gradient_norm(), config_.train.clip));
  }

 private:
  tasks::OfflineRlConfig config_;
  std::unique_ptr<tasks::Policy> agent_;
  train::Optimizer optimizer_;
  tasks::Episodes episodes_;
  models::DecisionWindows windows_;
};

}  // namespace

std::unique_ptr<Job> make_training_step(const DecisionSizes& sizes) { return std::make_unique<TrainingStep>(sizes); }

void save_outcome(const DecisionSizes& sizes, int64_t examples, const std::filesystem::path& path) {
  const auto agent = make_agent(sizes);
  agent->model().eval();
  const models::DecisionWindows windows = random_windows(random_episodes(sizes), sizes.steps, examples);
  const torch::Tensor loss = loss_of(*agent, windows, agent_config(sizes).loss);
  loss.backward();
  models::Tensors tensors = models::tensors_of(agent->model());
  for (const auto& entry : agent->model().named_parameters()) tensors["gradient." + entry.key()] = entry.value().grad();
  tensors["states"] = windows.states;
  tensors["actions"] = windows.actions;
  tensors["returns_to_go"] = windows.returns_to_go;
  tensors["timesteps"] = windows.timesteps;
  tensors["padding"] = windows.padding.value().to(at::kLong);
  tensors["loss"] = loss.detach().reshape({1});
  save_safetensors(path, tensors);
}

}  // namespace primal::bench
