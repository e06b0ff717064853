#include "tasks/sweep.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/statistics.h"
#include "base/text.h"
#include "primal/error.h"
#include "tasks/point_runs.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSweepFile = "sweep.json";

struct Point {
  std::vector<std::string> values;  // one per key
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

double score_of(const run::Result& result) {
  return std::isnan(result.validation_score) ? result.test->score : result.validation_score;
}

report::SweepCell cell_of(const std::vector<report::SweepKey>& keys, const Point& point, const PointPlan& plan,
                          size_t index) {
  report::SweepCell cell;
  for (size_t i = 0; i < keys.size(); ++i) cell.values[keys[i].name] = point.values[i];
  std::vector<double> scores, seconds;
  for (const run::Result& result : results_of(plan, index)) {
    scores.push_back(score_of(result));
    seconds.push_back(result.seconds);
  }
  cell.run = plan.request.folder / plan.request.points[index].folder;
  cell.finished = std::ssize(scores) == plan.request.seeds;
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

std::vector<report::SweepKey> keys_of(const std::vector<std::string>& vary) {
  if (vary.empty()) throw Error("--vary: at least one key=value,value,... is needed");
  std::vector<report::SweepKey> keys;
  for (const std::string& text : vary) {
    report::SweepKey key = parse_key(text);
    if (std::ranges::any_of(keys, [&](const report::SweepKey& other) { return other.name == key.name; })) {
      throw Error("--vary " + text + ": " + key.name + " is varied twice; give all its values at once");
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

PointPlan plan_of(const SweepRequest& request, const std::vector<report::SweepKey>& keys,
                  const std::vector<Point>& points) {
  PointsRequest wanted{.what = "sweep",
                       .points_are = "--vary",
                       .file = kSweepFile,
                       .file_may_lack = true,
                       .preset = request.preset,
                       .set = request.set};
  // Neither has a say in the validation accuracy.
  wanted.set.insert(wanted.set.end(), {"run.test=false", "run.refit=false"});
  for (const Point& point : points) wanted.points.push_back({folder_name(keys, point), assignments(keys, point)});
  wanted.folder = request.folder.empty() ? fs::path("sweeps") / fs::path(request.preset).stem() : request.folder;
  wanted.data = request.data;
  wanted.jobs = request.jobs;
  wanted.seeds = request.seeds;
  return plan_points(wanted);
}

std::string as_text(const report::SweepResults& results) { return to_json(results).dump(2) + "\n"; }

}  // namespace

SweepSummary sweep(const SweepRequest& request, base::Progress& progress) {
  const std::vector<report::SweepKey> keys = keys_of(request.vary);
  const std::vector<Point> points = grid(keys);
  const PointPlan plan = plan_of(request, keys, points);
  SweepSummary summary{.folder = plan.request.folder};
  report::SweepResults& results = summary.results;
  results.keys = keys;
  results.title = request.preset;
  results.protocol = name_of(plan.options.protocol);
  results.part = plan.selection == train::Part::validation ? "validation" : "best TEST";

  const auto describe = [&](const run::Result& result) {
    return results.part + " " + result.metric.name + " " + run::format_score(result.metric, score_of(result));
  };
  const base::FolderLock lock = hold_folder(plan, as_text(results), progress);
  const PointOutcome outcome = run_points(plan, describe, progress);
  summary.interrupted = outcome.interrupted;
  results.metric = common_metric(plan).value_or(run::Metric{.key = "score", .name = "score"});
  for (size_t i = 0; i < points.size(); ++i) {
    results.cells.push_back(cell_of(keys, points[i], plan, i));
    results.cells.back().failed = outcome.failed[i];
    summary.failed += outcome.failed[i];
  }
  base::write_file_atomically(summary.folder / kSweepFile, as_text(results));
  base::write_file_atomically(summary.folder / "sweep.html", report::sweep_page(results));
  return summary;
}

}  // namespace primal::tasks
