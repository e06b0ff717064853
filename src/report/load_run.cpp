#include <primal/error.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include "report/parse_run.h"
#include "report/run.h"

namespace primal::report {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_if_any(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  if (!fs::is_regular_file(path, error)) throw Error(path.string() + ": is not a file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(path.string() + ": cannot be read");
  return text;
}

std::string name_of(const fs::path& directory) {
  fs::path normal = fs::absolute(directory).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();  // "runs/a/" ends with an empty name
  return normal.filename().string();
}

/// Then R2 says nothing.
bool has_equal_targets(const TestResult& test) {
  return test.errors &&
         (test.errors->pairs.empty() || test.errors->pairs.front().first == test.errors->pairs.back().first);
}

}  // namespace

Run load_run(const fs::path& directory) {
  if (!fs::is_directory(directory)) throw Error(directory.string() + ": is not a directory");
  const auto config = read_if_any(directory / "config.toml");
  if (!config) throw Error(directory.string() + ": is not a run directory: it has no config.toml");

  Run run;
  run.directory = directory;
  run.name = name_of(directory);
  run.config = parse_config(*config);
  const auto read = [&](const char* name, const auto& parse) {
    const fs::path path = directory / name;
    if (const auto text = read_if_any(path)) parse(*text, path.string());
  };
  read("metrics.jsonl", [&](const auto& text, const auto& file) { run.metrics = parse_metrics(text, file); });
  read("result.json", [&](const auto& text, const auto& file) { run.result = parse_result(text, file); });
  read("analysis.json", [&](const auto& text, const auto& file) { run.layers = parse_analysis(text, file); });
  return run;
}

analysis::RunFacts facts_of(const Run& run) {
  analysis::RunFacts facts;
  facts.task = measure_of(run) == train::Measure::r2 ? analysis::Task::targets : analysis::Task::classes;
  facts.eta = run.config.number("loss.eta");
  for (const EpochRecord& epoch : run.metrics.epochs) {
    facts.task_loss.push_back(epoch.task_loss);
    facts.score.push_back(epoch.score);
    facts.ksvd.push_back(facts.eta > 0 ? epoch.ksvd / facts.eta : epoch.ksvd);  // the record has eta in it
    facts.objective.push_back(epoch.objective);
  }
  // The honest protocol looks at TEST once: then only the validation part has a curve.
  const auto validation = run.metrics.split("validation");
  facts.evaluation_split = validation.empty() ? "test" : "validation";
  for (const EvaluationRecord& record : run.metrics.split(facts.evaluation_split)) {
    facts.evaluation_epoch.push_back(record.epoch);
    facts.evaluation_loss.push_back(record.loss);
    facts.evaluation_score.push_back(record.score);
  }
  if (run.result && std::isfinite(run.result->test.score) && !has_equal_targets(run.result->test)) {
    facts.test_score = run.result->test.score;
    for (const auto& row : run.result->test.confusion) {
      facts.test_cases.push_back(std::reduce(row.begin(), row.end()));
    }
  }
  facts.failure = run.metrics.failure;
  facts.layers = run.layers;
  return facts;
}

}  // namespace primal::report
