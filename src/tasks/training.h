// `primal train`: one run, or one per seed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "run/result.h"
#include "tasks/resolve.h"

namespace primal::tasks {

struct TrainRequest {
  ConfigRequest config{};
  std::optional<std::filesystem::path> run{};  ///< default: runs/NAME-PROTOCOL-DATE
  int64_t seeds = 1;                           ///< from train.seed on, each in RUN/seed-K if there are several
};

struct TrainSummary {
  bool interrupted = false;
  std::filesystem::path folder{};
  std::vector<run::Result> results{};  ///< of the seeds that are done
};

/// Prints progress, not results.
TrainSummary train_new(const TrainRequest& request, base::Progress& progress);
/// Goes on with a run, or with the seeds of a folder. Only `set` keys that a run may change on the way are taken:
/// train.length, train.patience, train.checkpoint_*, run.threads.
TrainSummary train_resumed(const std::filesystem::path& folder, const TrainRequest& request, base::Progress& progress);

/// "test accuracy 97.3 % (honest protocol, seed 1, epoch 12 by validation 98.1 %)", and mean +- deviation of several.
std::string describe(const TrainSummary& summary);

}  // namespace primal::tasks
