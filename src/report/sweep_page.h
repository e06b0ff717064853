// The results of a sweep: a page with a table and a picture, and a table for the terminal.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "run/metric.h"

namespace primal::report {

struct SweepKey {
  std::string name;                 ///< "model.rank"
  std::vector<std::string> values;  ///< in the order of the axis
};

/// One combination of values; the score is the mean over its seeds.
struct SweepCell {
  std::map<std::string, std::string> values;                    ///< key name -> value
  double score = std::numeric_limits<double>::quiet_NaN();      ///< NaN = none yet
  double deviation = std::numeric_limits<double>::quiet_NaN();  ///< over the seeds; NaN for fewer than two
  std::int64_t seeds = 0;
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< mean per run
  std::filesystem::path run = {};                             ///< directory
  bool finished = false;
  std::int64_t failed = 0;  ///< runs of this sweep that gave no result
};

struct SweepResults {
  std::string title;          ///< "uea/JapaneseVowels"
  std::string part = "test";  ///< of the data that the scores are of
  run::Metric metric = run::accuracy_metric();
  std::string protocol;  ///< "honest" or "paper"
  std::vector<SweepKey> keys;
  std::vector<SweepCell> cells;
};

/// One HTML file: error bars over one key, a heat map over two, a heat map per combination of the others for more.
std::string sweep_page(const SweepResults& results);

/// What stands where a finished cell has its directory: "failed", "unfinished".
std::string state_of(const SweepCell& cell);

/// Columns in plain text, best cell marked with "*"; ends with a line feed.
std::string sweep_table(const SweepResults& results);

/// Index of the finished cell with the best score; cells.size() if there is none.
std::size_t best_cell(const SweepResults& results);

}  // namespace primal::report
