// A trained model out of its run directory.
#pragma once

#include <filesystem>

#include "tasks/time_series/config.h"
#include "tasks/time_series/series_facts.h"

namespace primal::tasks {

struct TrainedModel {
  TimeSeriesConfig config;
  SeriesFacts facts;
  models::SequenceClassifier model{nullptr};  ///< in evaluation mode
};

/// RUN/config.toml, data.json and best/. Throws Error, which names the file. Sets up the compute threads: `threads`, or
/// as the run had (0).
TrainedModel load_trained_model(const std::filesystem::path& run, int64_t threads = 0);

}  // namespace primal::tasks
