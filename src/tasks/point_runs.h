// Variants of a preset, each a run (or one per seed) in a process of its own: what a sweep and an ablation share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_lock.h"
#include "base/progress.h"
#include "run/result.h"
#include "tasks/config.h"

namespace primal::tasks {

struct RunPoint {
  std::string folder;            ///< below the folder of all
  std::vector<std::string> set;  ///< "key=value", after those of all points
};

struct PointsRequest {
  std::string what;            ///< "sweep", for messages
  std::string points_are;      ///< "--vary", likewise: what made them
  std::string file;            ///< in the folder, and says whose it is: "sweep.json"
  bool file_may_lack = false;  ///< earlier versions wrote it last
  std::string preset{};
  std::vector<std::string> set{};  ///< "key=value" for all points
  std::vector<RunPoint> points{};
  std::filesystem::path folder{};  ///< runs that are there already are kept, unfinished ones go on
  std::string data{};              ///< --data
  int64_t jobs = 1;                ///< runs at the same time; they share the threads
  int64_t seeds = 1;
};

struct PointRun {
  size_t point = 0;
  int64_t seed = 0;
  std::filesystem::path folder{};
};

struct PointPlan {
  PointsRequest request{};
  std::vector<PointRun> runs{};                     ///< all, finished or not
  RunOptions options{};                             ///< of the last point; the same for all
  train::Part selection = train::Part::validation;  ///< likewise
};

/// Reads the configuration of every point. Throws Error if one does not fit, is the same as another, or is not what
/// is in its folder already.
PointPlan plan_points(const PointsRequest& request);

struct PointOutcome {
  bool interrupted = false;
  std::vector<int64_t> failed{};  ///< [points] runs; their logs tell why
};

/// Makes the folder, to be held until the last file in it is written; `begun` goes into the request's file if there is
/// none. Data that are missing and can be made are made. Throws Error if something else is in the folder, or the data
/// of the runs cannot be read.
base::FolderLock hold_folder(const PointPlan& plan, const std::string& begun, base::Progress& progress);

/// Runs what is not finished yet. `progress` gets a line per finished run: "3/12  NAME  seed-1  " and what `describe`
/// makes of its result.
PointOutcome run_points(const PointPlan& plan, const std::function<std::string(const run::Result&)>& describe,
                        base::Progress& progress);

/// The results of the finished runs of a point, in the order of their seeds.
std::vector<run::Result> results_of(const PointPlan& plan, size_t point);

/// What all finished runs are judged by; nothing if none is finished. Throws Error if they differ in it.
std::optional<run::Metric> common_metric(const PointPlan& plan);

}  // namespace primal::tasks
