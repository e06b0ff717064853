// What several runs have in common and where they differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "run/run.h"

namespace primal::report {

/// Finished runs with a TEST on the same data whose configurations differ in the seed, and otherwise only in what has
/// no influence on the result (threads, checkpoints). A seed that occurs again begins another group.
struct Group {
  std::string preset, model, data;
  run::Protocol protocol = run::Protocol::honest;
  std::vector<std::size_t> runs;  ///< indices
  run::Metric metric = run::accuracy_metric();
  double score = run::kNoNumber, score_deviation = run::kNoNumber, seconds = run::kNoNumber;
};

/// A setting that is not the same in all runs.
struct Difference {
  std::string key;
  std::vector<std::string> values;  ///< one per run; "" where it is not set
};

/// In the order in which they first appear.
std::vector<Group> groups_of(const std::vector<run::Run>& runs);

std::vector<Difference> config_differences(const std::vector<run::Run>& runs);

/// A name for each run that is not shared with another: the last parts of its directory, as many as that takes.
std::vector<std::string> short_names(const std::vector<run::Run>& runs);

}  // namespace primal::report
