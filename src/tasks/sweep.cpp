#include "tasks/sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/folder_lock.h"
#include "base/format.h"
#include "base/json_file.h"
#include "base/statistics.h"
#include "base/text.h"
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

constexpr const char* kSweepFile = "sweep.json";

struct Point {
  std::vector<std::string> values;  // one per key
};

// One run.
struct Job {
  size_t point = 0;
  fs::path folder;
  int64_t seed = 0;
};

struct Plan {
  std::vector<Point> points;
  std::vector<Job> jobs;  // all, finished or not
  RunOptions run;         // of the last point; the same for all
  train::Part selection;  // likewise
};

report::SweepKey parse_key(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw Error("--vary " + text + ": expected key=value,value,...");
  if (text.starts_with("train.seed=")) throw Error("--vary " + text + ": seeds are varied by --seeds N");
  if (text.starts_with("run.")) throw Error("--vary " + text + ": the points of a sweep share run.*; use --set");
  report::SweepKey key{text.substr(0, equals), {}};
  if (key.name == "model.layers") throw Error("--vary " + text + ": a list cannot be varied; make one sweep per list");
  key.values = base::split_at_commas(text.substr(equals + 1));
  const bool ends_empty = text.ends_with(',') || text.ends_with('=');
  if (ends_empty || std::ranges::find(key.values, "") != key.values.end()) {
    throw Error("--vary " + text + ": a value is empty");
  }
  return key;
}

// Every combination, the last key fastest.
std::vector<Point> grid(const std::vector<report::SweepKey>& keys) {
  std::vector<Point> points(1);
  for (const report::SweepKey& key : keys) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const std::string& value : key.values) {
        longer.push_back(point);
        longer.back().values.push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<std::string> assignments(const std::vector<report::SweepKey>& keys, const Point& point) {
  std::vector<std::string> result;
  for (size_t i = 0; i < keys.size(); ++i) result.push_back(keys[i].name + "=" + point.values[i]);
  return result;
}

// "rank=20,eta=0.1": the last part of each key, as a folder name.
std::string folder_name(const std::vector<report::SweepKey>& keys, const Point& point) {
  std::string name;
  for (size_t i = 0; i < keys.size(); ++i) {
    name += (i > 0 ? "," : "") + keys[i].name.substr(keys[i].name.rfind('.') + 1) + "=" + point.values[i];
  }
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

ConfigRequest request_for(const SweepRequest& request, const std::vector<report::SweepKey>& keys, const Point& point) {
  ConfigRequest train{.preset = request.preset, .set = request.set, .data = request.data};
  for (std::string& assignment : assignments(keys, point)) train.set.push_back(std::move(assignment));
  return train;
}

std::vector<std::string> train_arguments(const Job& job, const ConfigRequest& train, int64_t threads) {
  std::vector<std::string> arguments = {"train", "--no-report"};
  if (fs::exists(job.folder / "config.toml")) {
    arguments.insert(arguments.end(), {"--resume", job.folder.string()});
  } else {
    arguments.insert(arguments.end(), {train.preset, "--run", job.folder.string(), "--seed", std::to_string(job.seed)});
    for (const std::string& assignment : train.set) arguments.insert(arguments.end(), {"--set", assignment});
  }
  arguments.insert(arguments.end(), {"--threads", std::to_string(threads)});
  if (!train.data.empty()) arguments.insert(arguments.end(), {"--data", train.data});
  return arguments;
}

// A folder that holds another configuration would give numbers of something else.
void check_same_configuration(const fs::path& folder, ConfigRequest train, int64_t seed) {
  if (!fs::exists(folder / "config.toml")) return;
  train.set.push_back("train.seed=" + std::to_string(seed));
  const Resolved wanted = resolve_config(train), found = read_config(folder / "config.toml");
  wanted.config->run.threads = found.config->run.threads = 0;
  if (wanted.config->toml() != found.config->toml()) {
    throw Error(folder.string() + ": a run with other options is here already; give the sweep another --run");
  }
}

bool is_finished(const fs::path& folder) { return fs::exists(folder / "result.json"); }

double score_of(const run::Result& result) {
  return std::isnan(result.validation_score) ? result.test->score : result.validation_score;
}

// What all finished runs are judged by; nothing if none is finished.
std::optional<run::Metric> common_metric(const std::vector<Job>& jobs) {
  std::optional<run::Metric> common;
  for (const Job& job : jobs) {
    if (!is_finished(job.folder)) continue;
    const run::Metric metric = run::read_result(job.folder / "result.json").metric;
    if (common && *common != metric) {
      throw Error(job.folder.string() + ": is judged by " + metric.name + ", others by " + common->name +
                  "; make a sweep for each kind of data");
    }
    common = metric;
  }
  return common;
}

// `folders`: of the seeds.
report::SweepCell cell_of(const std::vector<report::SweepKey>& keys, const Point& point,
                          const std::vector<fs::path>& folders) {
  report::SweepCell cell;
  for (size_t i = 0; i < keys.size(); ++i) cell.values[keys[i].name] = point.values[i];
  std::vector<double> scores, seconds;
  for (const fs::path& folder : folders) {
    if (!is_finished(folder)) continue;
    const run::Result result = run::read_result(folder / "result.json");
    scores.push_back(score_of(result));
    seconds.push_back(result.seconds);
  }
  cell.run = folders.front().parent_path();
  cell.finished = scores.size() == folders.size();
  if (scores.empty()) return cell;
  cell.seeds = std::ssize(scores);
  cell.score = base::mean(scores);
  cell.deviation = base::deviation(scores);
  cell.seconds = base::mean(seconds);
  return cell;
}

}  // namespace

nlohmann::json to_json(const report::SweepResults& results) {
  nlohmann::json cells = nlohmann::json::array();
  for (const auto& cell : results.cells) {
    cells.push_back({{"values", cell.values},
                     {results.metric.key, cell.score},
                     {"deviation", cell.deviation},
                     {"seeds", cell.seeds},
                     {"seconds", cell.seconds},
                     {"run", cell.run.string()},
                     {"finished", cell.finished},
                     {"failed", cell.failed}});
  }
  return {{"title", results.title},        {"part", results.part},         {"metric", results.metric},
          {"measure", results.metric.key}, {"protocol", results.protocol}, {"cells", cells}};
}

namespace {

// Every point is checked before the first run starts.
Plan plan_of(const SweepRequest& request, const std::vector<report::SweepKey>& keys) {
  Plan plan{.points = grid(keys), .jobs = {}, .run = {}, .selection = train::Part::validation};
  std::map<std::string, std::string> names;  // of each configuration
  for (size_t i = 0; i < plan.points.size(); ++i) {
    const ConfigRequest train = request_for(request, keys, plan.points[i]);
    const Resolved resolved = resolve_config(train);
    Config& config = *resolved.config;
    plan.run = config.run;
    plan.selection = config.selection();
    check_seeds(config.train.seed, request.seeds);
    const std::string name = folder_name(keys, plan.points[i]);
    const auto [other, is_new] = names.emplace(config.toml(), name);
    if (!is_new) throw Error("--vary: " + other->second + " and " + name + " are the same");
    const fs::path folder = request.folder / name;
    for (int64_t seed = config.train.seed; seed < config.train.seed + request.seeds; ++seed) {
      plan.jobs.push_back({i, folder / seed_folder(seed), seed});
      check_same_configuration(plan.jobs.back().folder, train, seed);
    }
  }
  return plan;
}

std::string last_line(const fs::path& log) {
  std::string text = base::read_text_if_any(log).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// "3/12  rank=20,eta=0.1  seed-1  validation accuracy 97.2 %"
std::string line_about(const Job& job, const std::string& part, int exit_code, const fs::path& log) {
  const std::string name = job.folder.parent_path().filename().string() + "  " + job.folder.filename().string() + "  ";
  if (exit_code == 0 && is_finished(job.folder)) {
    const run::Result result = run::read_result(job.folder / "result.json");
    return name + part + " " + result.metric.name + " " + run::format_score(result.metric, score_of(result));
  }
  return name + "failed (exit code " + std::to_string(exit_code) + "): " + last_line(log) + "; see " + log.string();
}

// Data that cannot be read are told of at once, not by every run.
void check_data(const Plan& plan, const SweepRequest& request, const std::vector<report::SweepKey>& keys) {
  const auto first = std::ranges::find_if(plan.jobs, [](const Job& job) { return !is_finished(job.folder); });
  if (first == plan.jobs.end()) return;
  const Resolved resolved = resolve_config(request_for(request, keys, plan.points[first->point]));
  const bool hold_out = plan.run.protocol == Protocol::honest;
  resolved.family->open(*resolved.config, {.search = data_search_path(request.data), .hold_out = hold_out});
}

bool holds_a_sweep(const fs::path& folder) {
  if (fs::exists(folder / kSweepFile)) return true;
  for (const fs::path& point : data::entries(folder)) {  // one of an older version that was stopped has none
    for (const fs::path& run : data::entries(point)) {
      if (run.filename().string().starts_with("seed-") && fs::exists(run / "config.toml")) return true;
    }
  }
  return false;
}

void check_folder(const fs::path& folder) {
  if (fs::exists(folder) && !fs::is_directory(folder)) throw Error(folder.string() + ": is not a folder");
  for (const fs::path& entry : data::entries(folder)) {
    if (entry.filename() == base::kLockFile || holds_a_sweep(folder)) continue;
    throw Error(folder.string() + ": a new sweep needs a folder that is absent or empty, but there is " +
                entry.filename().string() + " in this one");
  }
}

void run_unfinished(const SweepRequest& request, const Plan& plan, SweepSummary& summary, std::vector<int64_t>& failed,
                    const std::function<void(const std::string&)>& say) {
  const int64_t threads = std::max<int64_t>(threads_of(plan.run) / request.jobs, 1);
  std::vector<Child> children;
  std::vector<Job> jobs;
  for (const Job& job : plan.jobs) {
    if (is_finished(job.folder)) continue;
    const ConfigRequest train = request_for(request, summary.results.keys, plan.points[job.point]);
    const std::string log =
        job.folder.parent_path().filename().string() + "-" + job.folder.filename().string() + ".log";
    children.push_back({train_arguments(job, train, threads), request.folder / log});
    jobs.push_back(job);
  }
  size_t done = plan.jobs.size() - jobs.size();
  summary.interrupted = run_children(children, request.jobs, [&](size_t index, int exit_code) {
    summary.failed += exit_code != 0;
    failed[jobs[index].point] += exit_code != 0;
    say(std::to_string(++done) + "/" + std::to_string(plan.jobs.size()) + "  " +
        line_about(jobs[index], summary.results.part, exit_code, children[index].log));
  });
}

void write_results(const fs::path& folder, const report::SweepResults& results) {
  base::write_file_atomically(folder / kSweepFile, to_json(results).dump(2) + "\n");
}

}  // namespace

SweepSummary sweep(const SweepRequest& original, const std::function<void(const std::string&)>& say) {
  SweepRequest request = original;
  if (request.vary.empty()) throw Error("--vary: at least one key=value,value,... is needed");
  if (request.folder.empty()) request.folder = fs::path("sweeps") / fs::path(request.preset).stem();
  // Neither has a say in the validation accuracy.
  request.set.insert(request.set.end(), {"run.test=false", "run.refit=false"});

  SweepSummary summary{.folder = request.folder};
  report::SweepResults& results = summary.results;
  for (const std::string& text : request.vary) {
    report::SweepKey key = parse_key(text);
    if (std::ranges::any_of(results.keys, [&](const report::SweepKey& other) { return other.name == key.name; })) {
      throw Error("--vary " + text + ": " + key.name + " is varied twice; give all its values at once");
    }
    results.keys.push_back(std::move(key));
  }
  const Plan plan = plan_of(request, results.keys);
  const Protocol protocol = plan.run.protocol;
  results.title = request.preset;
  results.protocol = name_of(protocol);
  results.part = plan.selection == train::Part::validation ? "validation" : "best TEST";

  check_folder(request.folder);
  check_data(plan, request, results.keys);
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  if (failure) base::fail_writing(request.folder, "create it", failure);
  const base::FolderLock lock(request.folder, "another sweep is working here");
  if (!fs::exists(request.folder / kSweepFile)) write_results(request.folder, results);  // says whose folder it is
  std::vector<int64_t> failed(plan.points.size());
  run_unfinished(request, plan, summary, failed, say);
  results.metric = common_metric(plan.jobs).value_or(run::Metric{.key = "score", .name = "score"});
  for (size_t i = 0; i < plan.points.size(); ++i) {
    std::vector<fs::path> folders;
    for (const Job& job : plan.jobs) {
      if (job.point == i) folders.push_back(job.folder);
    }
    results.cells.push_back(cell_of(results.keys, plan.points[i], folders));
    results.cells.back().failed = failed[i];
  }
  write_results(request.folder, results);
  base::write_file_atomically(request.folder / "sweep.html", report::sweep_page(results));
  return summary;
}

}  // namespace primal::tasks
