// `primal eval`: how good a trained model is.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "run/evaluation.h"

namespace primal::tasks {

struct EvalResult {
  std::string what;  ///< "PrimalFormer of runs/1 on JapaneseVowels TEST, 370 series"
  run::Metric metric;
  run::Evaluation evaluation;
  std::vector<std::string> notes{};  ///< what the user should know besides
};

/// On `file`, or on TEST of the run's own data if it is empty. `data`: as --data. `set`: as open_trained().
EvalResult evaluate_run(const std::filesystem::path& run, const std::string& file, const std::string& data,
                        int64_t threads = 0, const std::vector<std::string>& set = {});

/// For people: score, loss, the other numbers, and what the details tell of each class.
std::string to_text(const EvalResult& result);
nlohmann::json to_json(const EvalResult& result);

}  // namespace primal::tasks
