#include "tasks/sweep.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "primal/error.h"
#include "tasks/child_processes.h"
#include "tasks/locations.h"
#include "tasks/training.h"
#include "train/format.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

struct Point {
  std::vector<std::string> values;  // one per key
};

struct Job {
  size_t point = 0;
  fs::path folder;
  std::vector<std::string> arguments;
};

report::SweepKey parse_key(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw Error("--vary " + text + ": expected key=value,value,...");
  if (text.starts_with("train.seed=")) throw Error("--vary " + text + ": seeds are varied by --seeds N");
  if (text.starts_with("run.")) throw Error("--vary " + text + ": the points of a sweep share run.*; use --set");
  report::SweepKey key{text.substr(0, equals), {}};
  for (size_t start = equals + 1; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    if (comma == start) throw Error("--vary " + text + ": a value is empty");
    key.values.push_back(text.substr(start, comma - start));
    start = comma + 1;
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

TrainRequest request_for(const SweepRequest& request, const std::vector<report::SweepKey>& keys, const Point& point) {
  TrainRequest train{.preset = request.preset, .set = request.set, .run = {}, .data = request.data, .seeds = 1};
  for (std::string& assignment : assignments(keys, point)) train.set.push_back(std::move(assignment));
  return train;
}

std::vector<std::string> train_arguments(const Job& job, const TrainRequest& train, int64_t seed, int64_t threads) {
  std::vector<std::string> arguments = {"train"};
  if (fs::exists(job.folder / "config.toml")) {
    arguments.insert(arguments.end(), {"--resume", job.folder.string()});
  } else {
    arguments.insert(arguments.end(), {train.preset, "--run", job.folder.string(), "--seed", std::to_string(seed)});
    for (const std::string& assignment : train.set) arguments.insert(arguments.end(), {"--set", assignment});
  }
  arguments.insert(arguments.end(), {"--threads", std::to_string(threads)});
  if (!train.data.empty()) arguments.insert(arguments.end(), {"--data", train.data});
  return arguments;
}

// A folder that holds another configuration would give numbers of something else.
void check_same_configuration(const fs::path& folder, TrainRequest train, int64_t seed) {
  if (!fs::exists(folder / "config.toml")) return;
  train.set.push_back("train.seed=" + std::to_string(seed));
  TimeSeriesConfig wanted = resolve_config(train), found = read_config(folder);
  wanted.run.threads = found.run.threads = 0;
  if (config_text(wanted) != config_text(found)) {
    throw Error(folder.string() + ": a run with other options is here already; give the sweep another --run");
  }
}

bool is_finished(const fs::path& folder) { return fs::exists(folder / "result.json"); }

double measure_of(const RunResult& result) {
  return result.protocol == Protocol::honest ? result.validation_accuracy : result.test->accuracy;
}

report::SweepCell cell_of(const std::vector<report::SweepKey>& keys, const Point& point,
                          const std::vector<fs::path>& folders) {
  report::SweepCell cell;
  for (size_t i = 0; i < keys.size(); ++i) cell.values[keys[i].name] = point.values[i];
  std::vector<double> accuracies, seconds;
  for (const fs::path& folder : folders) {
    if (!is_finished(folder)) continue;
    const RunResult result = read_result(folder / "result.json");
    accuracies.push_back(measure_of(result));
    seconds.push_back(result.seconds);
  }
  cell.run = folders.front().parent_path();
  cell.finished = accuracies.size() == folders.size();
  if (accuracies.empty()) return cell;
  const MeanDeviation all = mean_deviation(accuracies);
  cell.seeds = std::ssize(accuracies);
  cell.accuracy = all.mean;
  if (accuracies.size() > 1) cell.deviation = all.deviation;
  cell.seconds = mean_deviation(seconds).mean;
  return cell;
}

nlohmann::json to_json(const report::SweepResults& results) {
  nlohmann::json cells = nlohmann::json::array();
  for (const auto& cell : results.cells) {
    cells.push_back({{"values", cell.values},
                     {"accuracy", cell.accuracy},
                     {"deviation", cell.deviation},
                     {"seeds", cell.seeds},
                     {"seconds", cell.seconds},
                     {"run", cell.run.string()},
                     {"finished", cell.finished}});
  }
  return {{"title", results.title}, {"measure", results.measure}, {"protocol", results.protocol}, {"cells", cells}};
}

}  // namespace

SweepSummary sweep(const SweepRequest& original, const std::function<void(const std::string&)>& say) {
  SweepRequest request = original;
  if (request.vary.empty()) throw Error("--vary: at least one key=value,value,... is needed");
  if (request.folder.empty()) request.folder = fs::path("sweeps") / fs::path(request.preset).stem();
  request.set.push_back("run.test=false");

  SweepSummary summary{.folder = request.folder};
  auto& [title, measure, protocol, keys, cells] = summary.results;
  for (const std::string& text : request.vary) keys.push_back(parse_key(text));
  const std::vector<Point> points = grid(keys);
  // Every point is checked before the first run starts.
  TimeSeriesConfig config;
  for (const Point& point : points) config = resolve_config(request_for(request, keys, point));
  title = request.preset;
  protocol = name_of(config.run.protocol);
  measure = config.run.protocol == Protocol::honest ? "validation accuracy" : "best TEST accuracy";

  const int64_t threads = std::max<int64_t>(threads_of(config) / request.jobs, 1);
  std::vector<std::vector<fs::path>> folders(points.size());
  std::vector<Job> jobs;
  for (size_t i = 0; i < points.size(); ++i) {
    const TrainRequest train = request_for(request, keys, points[i]);
    for (int64_t seed = config.train.seed; seed < config.train.seed + request.seeds; ++seed) {
      Job job{i, request.folder / folder_name(keys, points[i]) / ("seed-" + std::to_string(seed)), {}};
      folders[i].push_back(job.folder);
      check_same_configuration(job.folder, train, seed);
      if (is_finished(job.folder)) continue;
      job.arguments = train_arguments(job, train, seed, threads);
      jobs.push_back(std::move(job));
    }
  }

  fs::create_directories(request.folder);
  std::vector<Child> children;
  for (const Job& job : jobs) {
    children.push_back({job.arguments, request.folder / (job.folder.parent_path().filename().string() + "-" +
                                                         job.folder.filename().string() + ".log")});
  }
  size_t done = points.size() * static_cast<size_t>(request.seeds) - jobs.size();
  const size_t total = points.size() * static_cast<size_t>(request.seeds);
  summary.interrupted = run_children(children, request.jobs, [&](size_t index, int exit_code) {
    const fs::path& folder = jobs[index].folder;
    std::string line = std::to_string(++done) + "/" + std::to_string(total) + "  " +
                       folder.parent_path().filename().string() + "  " + folder.filename().string() + "  ";
    if (exit_code == 0 && is_finished(folder)) {
      line += summary.results.measure + " " + train::format_percent(measure_of(read_result(folder / "result.json")));
    } else {
      ++summary.failed;
      line += "failed (exit code " + std::to_string(exit_code) + "), see " + children[index].log.string();
    }
    say(line);
  });
  for (size_t i = 0; i < points.size(); ++i) cells.push_back(cell_of(keys, points[i], folders[i]));
  data::write_file_atomically(request.folder / "sweep.json", to_json(summary.results).dump(2) + "\n");
  data::write_file_atomically(request.folder / "sweep.html", report::sweep_page(summary.results));
  return summary;
}

}  // namespace primal::tasks
