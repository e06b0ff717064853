// A run from its configuration to result.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/locate.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_facts.h"
#include "train/evaluation.h"
#include "train/progress.h"
#include "train/run_directory.h"

namespace primal::tasks {

/// result.json
struct RunResult {
  std::string preset, model, data;
  Protocol protocol = Protocol::honest;
  bool refit = false;
  bool kept_last = false;  ///< the last epoch, not the one that the validation part likes best
  int64_t seed = 0;
  int64_t epochs = 0, best_epoch = 0;
  train::Measure measure = train::Measure::accuracy;
  double validation_score = 0;            ///< NaN with the paper protocol
  std::optional<train::Evaluation> test;  ///< absent if run.test = false
  std::vector<std::string> classes;
  double seconds = 0, tokens_per_second = 0, peak_memory_mb = 0;
  int64_t parameters = 0, threads = 0;
  std::string cpu;
};

std::string to_text(const RunResult& result);
RunResult read_result(const std::filesystem::path& path);

struct RunOutcome {
  bool interrupted = false;
  RunResult result;  ///< unless interrupted
};

/// Starts the run, or goes on with it. Writes metrics, checkpoints, data.json, analysis.json and at the end
/// result.json. What it has to say goes to the progress display and to log.txt.
RunOutcome run_time_series(const TimeSeriesConfig& config, const data::SearchPath& search, train::RunDirectory& run,
                           train::Progress& progress);

/// Throws Error if the training series, or TEST if it chooses the epoch, are not those that the run, if it has begun,
/// wrote down in data.json.
void check_same_data(const std::filesystem::path& run, const SeriesFacts& facts);

/// In a folder of several seeds: how many, and the folder of each.
inline constexpr const char* kSeedsFile = "seeds.json";
std::string seed_folder(int64_t seed);

/// The configuration of a run directory.
TimeSeriesConfig read_config(const std::filesystem::path& run);

/// Threads that a configuration asks for: run.threads, or one per core.
int64_t threads_of(const TimeSeriesConfig& config);

}  // namespace primal::tasks
