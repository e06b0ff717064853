#include "tasks/evaluate.h"

#include <torch/types.h>

#include "base/format.h"
#include "run/classification.h"
#include "tasks/trained.h"

namespace primal::tasks {

namespace {

std::string number_line(const std::string& name, const std::string& value) {
  constexpr int kNames = 12, kValues = 12;
  return base::padded(name, kNames) + std::string(std::max<size_t>(value.size(), kValues) - value.size(), ' ') + value +
         "\n";
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
  std::string text = result.what + "\n";
  text += number_line(result.metric.name, result.metric.share ? base::format_percent(evaluation.score, 2)
                                                              : base::printed("%.4f", evaluation.score));
  for (const auto& [key, value] : evaluation.also) {
    text +=
        number_line(title_of(key), key == "macro_f1" ? base::format_percent(value, 2) : base::printed("%.5g", value));
  }
  if (evaluation.loss) text += number_line("loss", base::printed("%.4f", *evaluation.loss));
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
