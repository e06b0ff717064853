// `primal ablate`: what each part of the method is worth, on a preset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/progress.h"
#include "report/ablation_page.h"

namespace primal::tasks {

struct AblateRequest {
  std::string preset;
  std::vector<std::string> only;  ///< names of variants; empty: all
  std::vector<std::string> set;   ///< "key=value" for all
  std::filesystem::path folder;   ///< default: ablations/NAME; what stopped goes on in the same folder
  std::string data;               ///< --data
  int64_t jobs = 1;               ///< runs at the same time; they share the threads
  int64_t seeds = 3;              ///< of each variant
};

struct AblateSummary {
  bool interrupted = false;
  int64_t failed = 0;  ///< runs; their logs tell why
  std::filesystem::path folder{};
  report::AblationResults results{};
};

/// Trains what is not finished yet, then writes ablation.html and ablation.json. `progress` gets a line per finished
/// run.
AblateSummary ablate(const AblateRequest& request, base::Progress& progress);

}  // namespace primal::tasks
