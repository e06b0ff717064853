// `primal sweep`: a grid of options, each point a run (or one per seed) in a process of its own.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/progress.h"
#include "report/sweep_page.h"

namespace primal::tasks {

struct SweepRequest {
  std::string preset;
  std::vector<std::string> vary;  ///< "key=value,value,..."
  std::vector<std::string> set;   ///< "key=value" for all points
  std::filesystem::path folder;   ///< default: sweeps/NAME; a sweep that stopped goes on in the same folder
  std::string data;               ///< --data
  int64_t jobs = 1;               ///< runs at the same time; they share the threads
  int64_t seeds = 1;
};

struct SweepSummary {
  bool interrupted = false;
  int64_t failed = 0;  ///< runs; their log.txt tells why
  std::filesystem::path folder{};
  report::SweepResults results{};
};

/// Runs what is not finished yet, then writes sweep.html and sweep.json. With the honest protocol the measure is the
/// accuracy on the validation part and TEST is not touched: options must not be chosen on it. `progress` gets a line
/// per finished run.
SweepSummary sweep(const SweepRequest& request, base::Progress& progress);

/// As sweep.json has them.
nlohmann::json to_json(const report::SweepResults& results);

}  // namespace primal::tasks
