#include "tasks/evaluate.h"

#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "run/classification.h"
#include "tasks/trained.h"

namespace primal::tasks {

namespace {

struct NumberLine {
  std::string name, value;
};

// Names to the left, values to the right, however long.
std::string aligned(const std::vector<NumberLine>& lines) {
  size_t names = 12, values = 12;
  for (const NumberLine& line : lines) {
    names = std::max(names, line.name.size());
    values = std::max(values, line.value.size() + 1);
  }
  std::string text;
  for (const NumberLine& line : lines) {
    text += base::padded(line.name, static_cast<int>(names)) + std::string(values - line.value.size(), ' ') +
            line.value + "\n";
  }
  return text;
}

// "macro_f1" -> "macro F1", "rmse" -> "RMSE", "median_error" -> "median error".
std::string title_of(std::string key) {
  if (key == "macro_f1") return "macro F1";
  if (key == "rmse" || key == "mae") {
    for (char& c : key) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string class_table(const run::ClassDetails& details) {
  std::string text = base::printed("\n%-16s %8s %8s %8s\n", "class", "cases", "recall", "precision");
  const std::vector<run::ClassScores> scores = run::class_scores(details.confusion);
  for (size_t i = 0; i < scores.size(); ++i) {
    text += base::padded(details.classes[i], 16) + base::printed(" %8ld %6.1f %% %6.1f %%\n", scores[i].cases,
                                                                 100 * scores[i].recall, 100 * scores[i].precision);
  }
  return text;
}

}  // namespace

EvalResult evaluate_run(const std::filesystem::path& run, const std::string& file, const std::string& data,
                        int64_t threads, const std::vector<std::string>& set) {
  const Trained trained = open_trained(run, data, threads, set);
  Task& task = *trained.task;
  torch::NoGradGuard no_grad;
  DataChoice choice{.part = Part::test};
  if (!file.empty()) choice.file = file;
  EvalResult result{.what = {}, .metric = task.metric(), .evaluation = {}};
  result.evaluation = file.empty() ? task.evaluate(Part::test) : task.evaluate_file(file);
  result.what = trained.resolved.config->model_name() + " of " + run.string() + " on " + task.describe(choice);
  result.notes = task.notes(choice);
  return result;
}

std::string to_text(const EvalResult& result) {
  const run::Evaluation& evaluation = result.evaluation;
  const auto percent = [](double value) { return base::format_percent(value, 2); };
  std::vector<NumberLine> lines = {
      {result.metric.name, result.metric.share ? percent(evaluation.score) : base::printed("%.4f", evaluation.score)}};
  for (const auto& [key, value] : evaluation.also) {
    lines.push_back({title_of(key), key == "macro_f1" ? percent(value) : base::printed("%.5g", value)});
  }
  if (evaluation.loss) lines.push_back({"loss", base::printed("%.4f", *evaluation.loss)});
  std::string text = result.what + "\n" + aligned(lines);
  if (const auto classes = run::class_details(evaluation)) text += class_table(*classes);
  return text;
}

nlohmann::json to_json(const EvalResult& result) {
  return {{"what", result.what},
          {"metric", result.metric},
          {"score", result.evaluation.score},
          {"notes", result.notes},
          {"evaluation", run::to_json(result.evaluation, result.metric)}};
}

}  // namespace primal::tasks
