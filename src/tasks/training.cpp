#include "tasks/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/format.h"
#include "base/json_file.h"
#include "base/peak_memory.h"
#include "base/statistics.h"
#include "base/text.h"
#include "primal/error.h"
#include "run/metrics.h"
#include "tasks/locations.h"
#include "tasks/run_task.h"
#include "tasks/seeds.h"
#include "train/compute_threads.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using base::Progress;
using run::RunDirectory;

fs::path default_folder(const Config& config) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", std::localtime(&now));
  std::string name = fs::path(config.run.preset).stem().string();
  return fs::path("runs") / (name + "-" + name_of(config.run.protocol) + "-" + date);
}

// Changes that leave what has been done valid. Files may have another name or place than before: their fingerprints
// tell whether they are the same.
void check_may_change(const std::vector<std::string>& set, Config& config) {
  const auto files = config.own_files();
  const auto is_own_file = [&](const std::string& key) {
    return std::ranges::any_of(files, [&](const OwnFile& file) { return file.key == key; });
  };
  for (const std::string& assignment : set) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (key == "train.length" || key == "train.epochs" || key == "train.patience" || key == "run.threads" ||
        key.starts_with("train.checkpoint") || is_own_file(key)) {
      continue;
    }
    throw Error("--set " + assignment +
                ": a resumed run keeps its configuration; only train.length (or train.epochs), train.patience, "
                "train.checkpoint_*, run.threads and the names of its files may change");
  }
}

std::unique_ptr<Task> open_for_training(const Resolved& resolved, const std::string& data, Progress& progress) {
  base::reset_peak_memory();
  train::set_up_compute_threads(threads_of(resolved.config->run));
  return resolved.family->open(*resolved.config, {.search = data_search_path(data),
                                                  .hold_out = resolved.config->run.protocol == Protocol::honest,
                                                  .progress = &progress});
}

RunOutcome run_or_discard(const Resolved& resolved, Task& task, RunDirectory& run, Progress& progress) {
  try {
    return run_task(*resolved.config, task, run, progress);
  } catch (const base::Failure& failure) {
    run.log(std::string("failed: ") + failure.what());
    run.metric(run::failure_line(failure.what()));
    throw;
  } catch (const std::exception&) {
    const bool has_begun = fs::exists(run.checkpoints()) || run.metric_bytes() > 0;
    if (!has_begun) run.discard();
    throw;
  }
}

struct Started {
  fs::path folder;
  RunOutcome outcome;
};

// Whether the data are there is known before the folder is made. `may_rename`: the name is ours, so that another will
// do if it is taken.
Started start_run(const fs::path& folder, const Resolved& resolved, Task& task, Progress& progress,
                  bool may_rename = false) {
  const std::string config = resolved.config->toml();
  RunDirectory run = may_rename ? RunDirectory::create_beside(folder, config) : RunDirectory::create(folder, config);
  return {run.path(), run_or_discard(resolved, task, run, progress)};
}

// The parts whose files have other names now.
std::set<Part> renamed(Config& before, Config& now) {
  std::set<Part> parts;
  const std::vector<OwnFile> then = before.own_files(), today = now.own_files();
  for (size_t i = 0; i < then.size(); ++i) {
    const std::string &old_name = *then[i].name, &new_name = *today[i].name;
    if (old_name == new_name) continue;
    if (old_name.empty() || new_name.empty()) {  // other series would be held out
      throw Error(then[i].key + ": " + (old_name.empty() ? "the run began without it" : "the run began with one") +
                  (new_name.empty() ? ", got none" : ", got " + new_name));
    }
    parts.insert(then[i].part);
  }
  return parts;
}

// A changed configuration is written down; with another length or patience a finished run is no longer finished.
// Nothing of the run is changed before it is known that it can go on.
RunOutcome resume_run(const fs::path& folder, const Resolved& resolved, const std::string& data, Progress& progress) {
  RunDirectory run = RunDirectory::resume(folder);
  const Resolved before = read_config(folder / "config.toml");
  const train::TrainOptions &then = before.config->train, &now = resolved.config->train;
  const bool goes_on = then.length != now.length || then.patience != now.patience;
  const bool is_finished = fs::exists(folder / "result.json") && !goes_on;
  const std::unique_ptr<Task> task = is_finished ? nullptr : open_for_training(resolved, data, progress);
  const std::string text = resolved.config->toml();
  const bool is_changed = before.config->toml() != text;
  const std::set<Part> other_names = renamed(*before.config, *resolved.config);
  if (task) {
    check_same_data(folder, *task, other_names);
  } else if (!other_names.empty()) {
    check_same_data(folder, *open_for_training(resolved, data, progress), other_names);
  }
  if (task) train::check_can_go_on(run, *task, now, resolved.config->schedule);
  if (is_changed) run.write("config.toml", text);
  if (is_finished) return {.result = run::read_result(folder / "result.json")};
  fs::remove(folder / "result.json");
  return run_or_discard(resolved, *task, run, progress);
}

// Seeds one after another; a seed that has a folder goes on where it stood. All have the same data.
TrainSummary train_seeds(const fs::path& folder, const Resolved& resolved, int64_t count, const std::string& data,
                         Progress& progress) {
  TrainSummary summary{.folder = folder};
  const int64_t first = resolved.config->train.seed;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const fs::path own = folder / seed_folder(seed);
    resolved.config->train.seed = seed;
    RunOutcome outcome;
    if (fs::exists(own / "config.toml")) {
      outcome = resume_run(own, resolved, data, progress);
    } else {
      RunDirectory::check_is_new(own);
      const std::unique_ptr<Task> task = open_for_training(resolved, data, progress);
      check_same_data(folder / seed_folder(first), *task);
      outcome = start_run(own, resolved, *task, progress).outcome;
    }
    if (outcome.interrupted) {
      summary.interrupted = true;
      return summary;
    }
    summary.results.push_back(outcome.result);
  }
  return summary;
}

TrainSummary summary_of_one(const fs::path& folder, const RunOutcome& outcome) {
  TrainSummary summary{.interrupted = outcome.interrupted, .folder = folder};
  if (!outcome.interrupted) summary.results.push_back(outcome.result);
  return summary;
}

void check_is_new(const fs::path& folder) {
  if (holds_seeds(folder)) {
    throw Error(folder.string() + ": there are runs already; go on with them by --resume " +
                base::shell_word(folder.string()));
  }
  RunDirectory::check_is_new(folder);
}

std::string describe_one(const run::Result& result) {
  const auto score = [&](double value) { return result.metric.name + " " + run::format_score(result.metric, value); };
  std::string text = result.test ? "test " + score(result.test->score) : "no test";
  if (result.test && result.test->also.contains("rmse")) {
    text += ", RMSE " + base::format_digits(result.test->also.at("rmse"), 4);
  }
  text += " (" + result.model + " on " + result.data + ", protocol " + name_of(result.protocol) + ", seed " +
          std::to_string(result.seed) + ", " + run::describe_best(result);
  if (!std::isnan(result.validation_score)) {
    text += std::string(result.kept_last ? ", the last," : " by") + " validation " + score(result.validation_score);
    if (result.refit) text += ", refitted on all of TRAIN";
  } else {
    text += " by TEST itself";
  }
  return text + ")";
}

}  // namespace

TrainSummary train_new(const TrainRequest& request, Progress& progress) {
  const Resolved resolved = resolve_config(request.config);
  const Config& config = *resolved.config;
  const std::string& data = request.config.data;
  check_seeds(config.train.seed, request.seeds);
  const bool may_rename = !request.run;
  fs::path folder = request.run.value_or(default_folder(config));
  if (!may_rename) check_is_new(folder);
  if (request.seeds == 1) {
    const std::unique_ptr<Task> task = open_for_training(resolved, data, progress);
    const Started started = start_run(folder, resolved, *task, progress, may_rename);
    return summary_of_one(started.folder, started.outcome);
  }
  const bool made = may_rename || fs::create_directories(folder);
  if (may_rename) folder = RunDirectory::claim(folder);
  const int64_t first = config.train.seed;
  try {
    base::write_file_atomically(folder / kSeedsFile, nlohmann::json{{"seeds", request.seeds}}.dump() + "\n");
    base::write_file_atomically(folder / kSeedsConfig, resolved.config->toml());
    return train_seeds(folder, resolved, request.seeds, data, progress);
  } catch (const std::exception&) {
    if (!fs::exists(folder / seed_folder(first))) {  // nothing was begun
      std::error_code ignored;
      fs::remove(folder / kSeedsFile, ignored);
      fs::remove(folder / kSeedsConfig, ignored);
      if (made) fs::remove(folder, ignored);
    }
    throw;
  }
}

TrainSummary train_resumed(const fs::path& folder, const TrainRequest& request, Progress& progress) {
  const std::string& data = request.config.data;
  if (!holds_seeds(folder)) {
    if (!fs::exists(folder / "config.toml")) throw Error(folder.string() + ": no run here (config.toml is missing)");
    const Resolved resolved = read_config(folder / "config.toml", request.config.set);
    check_may_change(request.config.set, *resolved.config);
    return summary_of_one(folder, resume_run(folder, resolved, data, progress));
  }
  const Resolved resolved = read_config(folder / kSeedsConfig, request.config.set);
  check_may_change(request.config.set, *resolved.config);
  const Resolved before = read_config(folder / kSeedsConfig);
  const std::string text = resolved.config->toml();
  if (text != before.config->toml()) {
    check_same_data(folder / seed_folder(resolved.config->train.seed), *open_for_training(resolved, data, progress),
                    renamed(*before.config, *resolved.config));
    base::write_file_atomically(folder / kSeedsConfig, text);
  }
  const nlohmann::json seeds = base::read_json(folder / kSeedsFile);
  return train_seeds(folder, resolved, seeds.value("seeds", int64_t{1}), data, progress);
}

std::string describe(const TrainSummary& summary) {
  std::string text;
  std::vector<double> scores;
  for (const run::Result& result : summary.results) {
    text += describe_one(result) + "\n";
    if (result.test) scores.push_back(result.test->score);
  }
  if (scores.size() > 1) {
    const run::Result& first = summary.results.front();
    text += "mean " + run::format_score(first.metric, base::mean(scores)) + " +- " +
            run::format_score(first.metric, base::deviation(scores)) + " over " + std::to_string(scores.size()) +
            " seeds, protocol " + name_of(first.protocol) + "\n";
  }
  return text;
}

}  // namespace primal::tasks
