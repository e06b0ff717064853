// A run from an opened task to result.json, whatever the family.
#pragma once

#include <filesystem>
#include <set>

#include "base/progress.h"
#include "run/result.h"
#include "run/run_directory.h"
#include "tasks/config.h"
#include "tasks/task.h"

namespace primal::tasks {

struct RunOutcome {
  bool interrupted = false;
  run::Result result{};  ///< unless interrupted
};

/// Starts the run, or goes on with it. Writes metrics, checkpoints, data.json, analysis.json and at the end
/// result.json. What it has to say goes to the progress display and to log.txt.
RunOutcome run_task(const Config& config, Task& task, run::RunDirectory& run, base::Progress& progress);

/// Throws Error if the training data or TEST are not those that the run, if it has begun, wrote down in data.json; also
/// for a part of `must_tell` that it wrote down nothing to tell by.
void check_same_data(const std::filesystem::path& run, const Task& task, const std::set<Part>& must_tell = {});

}  // namespace primal::tasks
