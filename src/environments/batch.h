// Many episodes of one robot side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "environments/environment.h"
#include "environments/worker_threads.h"

namespace primal::environments {

/// Steps its environments on several threads, with the same results for any number of them. One whose episode has ended
/// is left alone until it is reset.
///
///   EnvironmentBatch batch(simulator(Robot::hopper), 10, threads);
///   batch.reset(seed);
///   while (batch.running() > 0) {
///     for (const StepResult& result : batch.step(actions_for(batch.observations()))) ...
///   }
class EnvironmentBatch {
 public:
  EnvironmentBatch(const std::shared_ptr<const Simulator>& simulator, int64_t size, int64_t threads);

  const RobotInfo& robot() const { return environments_.front().robot(); }
  int64_t size() const { return static_cast<int64_t>(environments_.size()); }
  const Environment& operator[](int64_t index) const { return environments_[static_cast<std::size_t>(index)]; }

  /// New episodes, with the numbers first to first + size - 1: an episode depends on the seed and on its own number, on
  /// nothing else.
  void reset(uint64_t seed, int64_t first = 0);
  /// A new episode in one of them.
  void reset_one(int64_t index, uint64_t seed, int64_t number);

  /// actions: [size, actions]; those for ended episodes are not looked at. Of those the reward is 0, and it stays said
  /// how they ended.
  std::span<const StepResult> step(std::span<const double> actions);
  std::span<const StepResult> results() const { return results_; }

  /// [size, states]; of ended episodes the last one.
  std::span<const double> observations() const { return observations_; }
  bool ended(int64_t index) const { return results_[static_cast<std::size_t>(index)].ended(); }
  int64_t running() const;

 private:
  void keep_observation(int64_t index);

  std::vector<Environment> environments_;
  std::vector<StepResult> results_;
  std::vector<double> observations_;
  std::unique_ptr<WorkerThreads> threads_;  // a pointer: a batch can be moved
};

}  // namespace primal::environments
