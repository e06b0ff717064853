// A task on own episodes that no robot plays, and what it is to compute, in plain loops.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/files.h"
#include "tasks/offline_rl/small_agents.h"
#include "tasks/offline_rl/task.h"

namespace primal::tests {

/// Any sum of these says which ones it is of.
inline const std::vector<int64_t> kOfflineLengths = {1, 2, 4, 8, 16, 32};

/// Own episodes of nothing that could be played: no simulator is needed.
class OfflineTaskTest : public FolderTest {
 protected:
  void SetUp() override {
    if (!data::has_hdf5()) GTEST_SKIP() << "built without HDF5";
    config.data.train = written("mine.hdf5", all).string();
    config.data.robot = "none";
    config.data.validation = 0.34;  // two of six
    config.data.return_scale = 10;
  }

  std::filesystem::path written(const std::string& name, const data::Trajectories& trajectories) const {
    data::write_d4rl(folder / name, trajectories, {});
    return folder / name;
  }
  tasks::OfflineRlTask opened() { return tasks::OfflineRlTask(config, {}); }
  /// Of a run that was trained on these data.
  tasks::OfflineRlTask reopened() {
    const std::string facts = opened().facts().dump();
    return tasks::OfflineRlTask(config, {.search = {}, .facts = write("data.json", facts)});
  }

  /// The numbers of the episodes that a task is trained on, and of those that it holds out.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> parts(const tasks::OfflineRlTask& task) const {
    std::vector<int64_t> in, out;
    for (size_t i = 0; i < kOfflineLengths.size(); ++i) {
      (task.examples() & kOfflineLengths[i] ? in : out).push_back(static_cast<int64_t>(i));
    }
    return {in, out};
  }
  tasks::Episodes episodes_of(const tasks::OfflineRlTask& task, const std::vector<int64_t>& numbers) const {
    return tasks::Episodes(all, numbers, task.offline_facts(), config.data.return_scale, config.data.delayed);
  }
  models::DecisionWindows windows_of(const tasks::OfflineRlTask& task, const std::vector<int64_t>& rows) const {
    const tasks::Episodes train = episodes_of(task, parts(task).first);
    std::vector<tasks::Stretch> stretches;
    for (const int64_t row : rows) stretches.push_back(train.from(row, config.model.steps));
    return train.windows(stretches, config.model.steps);
  }

  data::Trajectories all = random_episodes(kOfflineLengths, 5, 2);
  tasks::OfflineRlConfig config = small_agent();
};

inline std::unique_ptr<train::Batch> offline_batch(const tasks::OfflineRlTask& task, std::vector<int64_t> rows) {
  return task.batch(std::move(rows), base::Random(1));
}

inline models::DecisionTransformerImpl& decision_of(tasks::OfflineRlTask& task) {
  return dynamic_cast<models::DecisionTransformerImpl&>(task.model());
}

/// Mean of the squared differences of those steps that are none of padding, number by number.
inline double plain_action_error(const at::Tensor& actions, const models::DecisionWindows& windows) {
  double sum = 0;
  int64_t numbers = 0;
  for (int64_t i = 0; i < actions.size(0); ++i) {
    for (int64_t step = 0; step < actions.size(1); ++step) {
      if (windows.padding && (*windows.padding)[i][step].item<bool>()) continue;
      for (int64_t j = 0; j < actions.size(2); ++j, ++numbers) {
        const double difference = (actions[i][step][j] - windows.actions[i][step][j]).item<double>();
        sum += difference * difference;
      }
    }
  }
  return sum / static_cast<double>(numbers);
}

}  // namespace primal::tests
