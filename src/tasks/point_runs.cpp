#include "tasks/point_runs.h"

#include <algorithm>
#include <map>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/write_failure.h"
#include "data/search_path.h"
#include "primal/error.h"
#include "tasks/child_processes.h"
#include "tasks/locations.h"
#include "tasks/resolve.h"
#include "tasks/seeds.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

ConfigRequest config_of(const PointsRequest& request, size_t point) {
  ConfigRequest config{.preset = request.preset, .set = request.set, .data = request.data};
  const auto& own = request.points[point].set;
  config.set.insert(config.set.end(), own.begin(), own.end());
  return config;
}

bool is_finished(const fs::path& folder) { return fs::exists(folder / "result.json"); }

// A folder that holds another configuration would give numbers of something else.
void check_same_configuration(const PointsRequest& request, ConfigRequest config, const PointRun& run) {
  if (!fs::exists(run.folder / "config.toml")) return;
  config.set.push_back("train.seed=" + std::to_string(run.seed));
  const Resolved wanted = resolve_config(config), found = read_config(run.folder / "config.toml");
  wanted.config->run.threads = found.config->run.threads = 0;
  if (wanted.config->toml() != found.config->toml()) {
    throw Error(run.folder.string() + ": a run with other options is here already; give the " + request.what +
                " another --run");
  }
}

std::vector<std::string> train_arguments(const PointRun& run, const ConfigRequest& config, int64_t threads) {
  std::vector<std::string> arguments = {"train", "--no-report"};
  if (fs::exists(run.folder / "config.toml")) {
    arguments.insert(arguments.end(), {"--resume", run.folder.string()});
  } else {
    arguments.insert(arguments.end(),
                     {config.preset, "--run", run.folder.string(), "--seed", std::to_string(run.seed)});
    for (const std::string& assignment : config.set) arguments.insert(arguments.end(), {"--set", assignment});
  }
  arguments.insert(arguments.end(), {"--threads", std::to_string(threads)});
  if (!config.data.empty()) arguments.insert(arguments.end(), {"--data", config.data});
  return arguments;
}

std::string last_line(const fs::path& log) {
  std::string text = base::read_text_if_any(log).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// Data that cannot be read are told of at once, not by every run.
void check_data(const PointPlan& plan, base::Progress& progress) {
  const auto first = std::ranges::find_if(plan.runs, [](const PointRun& run) { return !is_finished(run.folder); });
  if (first == plan.runs.end()) return;
  const Resolved resolved = resolve_config(config_of(plan.request, first->point));
  const bool hold_out = plan.options.protocol == Protocol::honest;
  resolved.family->open(*resolved.config,
                        {.search = data_search_path(plan.request.data), .hold_out = hold_out, .progress = &progress});
  progress.finish();
}

bool is_ours(const PointsRequest& request) {
  if (fs::exists(request.folder / request.file)) return true;
  if (!request.file_may_lack) return false;
  for (const fs::path& point : data::entries(request.folder)) {  // one of an older version that was stopped has none
    for (const fs::path& run : data::entries(point)) {
      if (run.filename().string().starts_with("seed-") && fs::exists(run / "config.toml")) return true;
    }
  }
  return false;
}

void check_folder(const PointsRequest& request) {
  const fs::path& folder = request.folder;
  if (fs::exists(folder) && !fs::is_directory(folder)) throw Error(folder.string() + ": is not a folder");
  for (const fs::path& entry : data::entries(folder)) {
    if (entry.filename() == base::kLockFile || is_ours(request)) continue;
    throw Error(folder.string() + ": a new " + request.what + " needs a folder that is absent or empty, but there is " +
                entry.filename().string() + " in this one");
  }
}

}  // namespace

PointPlan plan_points(const PointsRequest& request) {
  PointPlan plan{.request = request};
  std::map<std::string, std::string> names;  // of each configuration
  for (size_t i = 0; i < request.points.size(); ++i) {
    const ConfigRequest wanted = config_of(request, i);
    const Resolved resolved = resolve_config(wanted);
    Config& config = *resolved.config;
    plan.options = config.run;
    plan.selection = config.selection();
    check_seeds(config.train.seed, request.seeds);
    const std::string& name = request.points[i].folder;
    const auto [other, is_new] = names.emplace(config.toml(), name);
    if (!is_new) throw Error(request.points_are + ": " + other->second + " and " + name + " are the same");
    for (int64_t seed = config.train.seed; seed < config.train.seed + request.seeds; ++seed) {
      plan.runs.push_back({.point = i, .seed = seed, .folder = request.folder / name / seed_folder(seed)});
      check_same_configuration(request, wanted, plan.runs.back());
    }
  }
  return plan;
}

base::FolderLock hold_folder(const PointPlan& plan, const std::string& begun, base::Progress& progress) {
  const PointsRequest& request = plan.request;
  check_folder(request);
  check_data(plan, progress);
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  if (failure) base::fail_writing(request.folder, "create it", failure);
  base::FolderLock lock(request.folder, "another " + request.what + " is working here");
  if (!fs::exists(request.folder / request.file)) base::write_file_atomically(request.folder / request.file, begun);
  return lock;
}

PointOutcome run_points(const PointPlan& plan, const std::function<std::string(const run::Result&)>& describe,
                        base::Progress& progress) {
  const PointsRequest& request = plan.request;
  const int64_t threads = std::max<int64_t>(threads_of(plan.options) / request.jobs, 1);
  PointOutcome outcome{.failed = std::vector<int64_t>(request.points.size())};
  std::vector<Child> children;
  std::vector<PointRun> started;
  for (const PointRun& run : plan.runs) {
    if (is_finished(run.folder)) continue;
    const std::string log = request.points[run.point].folder + "-" + run.folder.filename().string() + ".log";
    children.push_back({train_arguments(run, config_of(request, run.point), threads), request.folder / log});
    started.push_back(run);
  }
  size_t done = plan.runs.size() - started.size();
  outcome.interrupted = run_children(children, request.jobs, [&](size_t index, int exit_code) {
    const PointRun& run = started[index];
    const fs::path& log = children[index].log;
    std::string line = std::to_string(++done) + "/" + std::to_string(plan.runs.size()) + "  " +
                       request.points[run.point].folder + "  " + run.folder.filename().string() + "  ";
    if (exit_code == 0 && is_finished(run.folder)) {
      line += describe(run::read_result(run.folder / "result.json"));
    } else {
      ++outcome.failed[run.point];
      line += "failed (exit code " + std::to_string(exit_code) + "): " + last_line(log) + "; see " + log.string();
    }
    progress.line(line);
  });
  return outcome;
}

std::vector<run::Result> results_of(const PointPlan& plan, size_t point) {
  std::vector<run::Result> results;
  for (const PointRun& run : plan.runs) {
    if (run.point == point && is_finished(run.folder)) results.push_back(run::read_result(run.folder / "result.json"));
  }
  return results;
}

std::optional<run::Metric> common_metric(const PointPlan& plan) {
  std::optional<run::Metric> common;
  for (const PointRun& run : plan.runs) {
    if (!is_finished(run.folder)) continue;
    const run::Metric metric = run::read_result(run.folder / "result.json").metric;
    if (common && *common != metric) {
      throw Error(run.folder.string() + ": is judged by " + metric.name + ", others by " + common->name + "; make a " +
                  plan.request.what + " for each kind of data");
    }
    common = metric;
  }
  return common;
}

}  // namespace primal::tasks
