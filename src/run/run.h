// A run directory as it was left: plain structs. docs/report.md describes the files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/analysis_file.h"
#include "run/config_text.h"
#include "run/metrics.h"
#include "run/result.h"

namespace primal::run {

struct Run {
  std::filesystem::path directory;  ///< as given, never empty
  std::string name;                 ///< last part of the directory
  Config config;
  Metrics metrics;
  std::optional<Result> result;  ///< none while the run is unfinished
  Spectra spectra;               ///< analysis.json; empty if there is none
};

/// What the scores of the run are.
inline const Metric& metric_of(const Run& run) { return run.result ? run.result->metric : run.metrics.metric; }

/// Reads config.toml (must exist), metrics.jsonl, result.json and analysis.json. Throws primal::Error, one line that
/// names file and line.
Run load_run(const std::filesystem::path& directory);

/// The run directories in `folder`: itself, or those of several seeds or points of a sweep below it. Throws Error if
/// there are none.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& folder);

}  // namespace primal::run
