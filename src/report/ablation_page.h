// The results of an ablation: a page with a picture and tables, and a table for the terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "run/metric.h"

namespace primal::report {

/// Mean over the seeds, and half of its 95 % interval. NaN: nothing measured; fewer than two seeds.
struct Estimate {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double half = std::numeric_limits<double>::quiet_NaN();
  std::int64_t count = 0;  ///< of the seeds that it is a mean over
};

/// Of these values; what is not finite is left out.
Estimate estimate_of(const std::vector<double>& values);

struct AblationRow {
  std::string name;                ///< "eta-0"
  std::string group{};             ///< the part of the method that it is about; empty for the preset itself
  std::string change;              ///< for people
  std::vector<std::string> set{};  ///< "key=value"
  std::string skipped{};           ///< why there is no such variant; empty: there is
  std::filesystem::path run{};     ///< directory of its seeds
  std::int64_t parameters = 0;
  std::int64_t seeds = 0, failed = 0;  ///< finished and failed runs
  /// *_difference and *_ratio: to the preset with the same seed.
  Estimate score{}, score_difference{};
  Estimate objective{}, objective_difference{};            ///< mean |J| of the primal layers with the kept weights
  Estimate effective_rank{}, effective_rank_difference{};  ///< mean over the primal layers, of the larger of e and r
  Estimate tokens_per_second{}, speed_ratio{};
  Estimate memory_mb{}, memory_ratio{};
};

struct AblationResults {
  std::string title;          ///< "uea/JapaneseVowels"
  std::string part = "test";  ///< of the data that the scores are of; "best test" with the paper protocol
  run::Metric metric = run::accuracy_metric();
  std::string protocol;           ///< "honest" or "paper"
  std::int64_t seeds = 1;         ///< that each variant was to have
  std::vector<AblationRow> rows;  ///< the preset first
};

/// As ablation.json and the page have them.
nlohmann::json to_json(const AblationResults& results);

/// One HTML file: the differences with their intervals, then everything as tables.
std::string ablation_page(const AblationResults& results);

/// Columns in plain text; ends with a line feed. Scores that are shares are in percent, differences in points.
std::string ablation_table(const AblationResults& results);

}  // namespace primal::report
