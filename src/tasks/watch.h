// Looks at a run while it trains: spectra, and known signs of failure.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "run/run_directory.h"
#include "tasks/task.h"

namespace primal::tasks {

/// RUN/analysis.json, from some training examples.
void analyse(Task& task, const run::RunDirectory& run);

/// Known failure signatures, each said once, as soon as it shows.
class Watch {
 public:
  /// `say` gets a line for each; `advice` is for numbers that have run away.
  Watch(Task& task, std::string advice, run::RunDirectory& run, std::function<void(const std::string&)> say);

  /// Throws Failure if the numbers have run away.
  void look();

 private:
  Task& task_;
  std::string advice_;
  run::RunDirectory& run_;
  std::function<void(const std::string&)> say_;
  std::set<std::string> said_;
};

}  // namespace primal::tasks
