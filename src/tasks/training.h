// `primal train`: one run, or one per seed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tasks/time_series/run.h"
#include "train/progress.h"

namespace primal::tasks {

struct TrainRequest {
  std::string preset = "uea/JapaneseVowels";
  std::vector<std::string> set;              ///< "key=value", in order
  std::optional<std::filesystem::path> run;  ///< default: runs/NAME-PROTOCOL-DATE
  std::string data;                          ///< --data
  int64_t seeds = 1;                         ///< from train.seed on, each in RUN/seed-K if there are several
};

/// Preset, environment, then `set`. Throws Error for what does not fit.
TimeSeriesConfig resolve_config(const TrainRequest& request);
/// The same as TOML.
std::string config_text(TimeSeriesConfig config);
/// Every key with its value under the request, and its help.
std::string list_keys(const TrainRequest& request);

struct TrainSummary {
  bool interrupted = false;
  std::filesystem::path folder{};
  std::vector<RunResult> results{};  ///< of the seeds that are done
};

/// Prints progress, not results.
TrainSummary train_new(const TrainRequest& request, train::Progress& progress);
/// Goes on with a run, or with the seeds of a folder. Only `set` keys that a run may change on the way are taken:
/// train.epochs, train.patience, train.checkpoint_*, run.threads.
TrainSummary train_resumed(const std::filesystem::path& folder, const TrainRequest& request, train::Progress& progress);

struct MeanDeviation {
  double mean = 0, deviation = 0;  ///< deviation: of a sample, 0 for one value
};
MeanDeviation mean_deviation(const std::vector<double>& values);

/// "test accuracy 97.3 % (honest protocol, seed 1, epoch 12 by validation 98.1 %)", and mean +- deviation of several.
std::string describe(const TrainSummary& summary);

}  // namespace primal::tasks
