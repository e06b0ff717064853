// Offline reinforcement learning: learn to act from logged episodes, be judged by playing.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tasks/family.h"
#include "tasks/offline_rl/config.h"
#include "tasks/offline_rl/offline_data.h"
#include "tasks/offline_rl/policy.h"
#include "tasks/offline_rl/rollouts.h"

namespace primal::tasks {

/// Episodes of a robot are judged by their return in the simulator: validation and TEST are starts of episodes that
/// differ. Episodes of anything else are judged by how far the actions are from those of episodes that were held out.
class OfflineRlTask : public Task {
 public:
  OfflineRlTask(const OfflineRlConfig& config, const Opening& opening);

  torch::nn::Module& model() override { return policy_->model(); }
  const train::Metric& metric() const override;
  int64_t examples() const override { return train_.rows(); }
  std::unique_ptr<train::Batch> batch(std::vector<int64_t> examples, base::Random random) const override;
  train::BatchLoss loss(train::Batch& batch) override;
  Evaluation evaluate(Part part) override;

  nlohmann::json facts() const override;
  bool has(Part part) const override;
  std::string description() const override;
  std::vector<std::string> notes() const override { return notes_; }
  std::string describe(const DataChoice& choice) override;
  void forward(const DataChoice& choice) override;
  Evaluation evaluate_file(const std::filesystem::path& file) override;
  /// A line for each step of logged episodes: what the agent would have done.
  std::vector<std::string> predict(const PredictRequest& request, const LineWriter& write) override;

  /// Episodes to look at; targets: as configured if there are none.
  std::vector<PlayedEpisode> play(std::vector<double> targets, int64_t episodes, uint64_t seed);
  const OfflineFacts& offline_facts() const { return facts_; }
  const OfflineRlConfig& config() const { return config_; }

 private:
  void read_data();
  void hold_out(const data::Trajectories& all);
  void check_simulator() const;
  const Episodes& part(Part part);
  Episodes file(const std::filesystem::path& path) const;
  std::vector<double> targets() const;
  Evaluation rollouts(Part part);
  /// Squared error of the actions of these episodes.
  double action_error(const Episodes& episodes);

  OfflineRlConfig config_;
  Opening opening_;
  OfflineFacts facts_;
  Episodes train_, validation_;
  std::vector<std::string> notes_;
  std::unique_ptr<Policy> policy_;
};

}  // namespace primal::tasks
