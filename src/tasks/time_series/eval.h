// A trained model on labelled series.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/evaluation.h"

namespace primal::tasks {

struct EvalResult {
  std::string what;  ///< "PrimalFormer of runs/1 on JapaneseVowels TEST, 370 series"
  train::Evaluation evaluation;
  std::vector<std::string> classes;
};

/// On `file`, or on TEST of the run's own data if it is empty. `data`: as --data.
EvalResult evaluate_run(const std::filesystem::path& run, const std::string& file, const std::string& data,
                        int64_t threads = 0);

}  // namespace primal::tasks
