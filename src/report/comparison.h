// What several runs have in common and where they differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/run.h"

namespace primal::report {

/// Finished runs with a TEST on the same data whose configurations differ in the seed, and otherwise only in what has
/// no influence on the result (threads, checkpoints). A seed that occurs again begins another group.
struct Group {
  std::string preset, model, data, protocol;
  std::vector<std::size_t> runs;  ///< indices
  train::Measure measure = train::Measure::accuracy;
  double score = kNoNumber, score_deviation = kNoNumber, seconds = kNoNumber;
};

/// A setting that is not the same in all runs.
struct Difference {
  std::string key;
  std::vector<std::string> values;  ///< one per run; "" where it is not set
};

/// In the order in which they first appear.
std::vector<Group> groups_of(const std::vector<Run>& runs);

std::vector<Difference> config_differences(const std::vector<Run>& runs);

/// A name for each run that is not shared with another: the last parts of its directory, as many as that takes.
std::vector<std::string> short_names(const std::vector<Run>& runs);

}  // namespace primal::report
