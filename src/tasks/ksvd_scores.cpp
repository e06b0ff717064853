#include "tasks/ksvd_scores.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/ksvd_intervention.h"
#include "analysis/ksvd_replacement.h"
#include "base/format.h"
#include "nn/encoder_layer.h"
#include "primal/error.h"
#include "tasks/task.h"

namespace primal::tasks {

namespace {

using analysis::InsteadOfScores;

TaskScore score_of(Task& task, const DataChoice& choice) {
  const Evaluation evaluation = choice.file ? task.evaluate_file(*choice.file) : task.evaluate(choice.part);
  return {evaluation.score, evaluation.loss};
}

bool has_causal(Task& task) {
  return std::ranges::any_of(task.model().modules(), [](const auto& module) {
    const auto* layer = module->template as<nn::EncoderLayerImpl>();
    return layer != nullptr && layer->attention->primal() != nullptr && layer->attention->options().causal;
  });
}

// Of training examples, as many as are chosen: what is learnt from the data that are judged would be known too early.
analysis::SeenByLayers seen_by_causal(Task& task, const DataChoice& choice, ChangedScores& scores) {
  if (!has_causal(task)) return {};
  DataChoice shown = choice;
  if (task.has(Part::train)) {
    shown.part = Part::train;
    shown.file.reset();
  }
  scores.shown = task.describe(shown);
  return analysis::ksvd_seen(task.model(), [&] { task.forward(shown); });
}

TaskScore score_with(Task& task, const DataChoice& choice, const std::shared_ptr<nn::Attention>& attention,
                     const analysis::SeenByLayers& seen, InsteadOfScores instead) {
  if (const auto causal = seen.find(attention); causal != seen.end()) {
    const analysis::KsvdReplacement replacement(attention, causal->second, instead);
    return score_of(task, choice);
  }
  const analysis::KsvdIntervention intervention(attention, instead);
  const TaskScore score = score_of(task, choice);
  if (intervention.calls() == 0) throw Error("--intervene: the layers of this task do not see whole sequences");
  return score;
}

std::string score_text(const ChangedScores& scores, const TaskScore& value) {
  std::string cell = run::format_score(scores.metric, value.score);
  if (value.loss) cell += base::printed(", loss %.4f", *value.loss);
  return cell;
}

std::string title_of(const ChangedScores& scores) {
  const std::string title = scores.metric.name + " on " + scores.what + ": " + score_text(scores, scores.own);
  return scores.shown.empty() ? title : title + "; pairs of causal layers: of " + scores.shown;
}

nlohmann::json score_json(const TaskScore& score) {
  nlohmann::json json = {{"score", score.score}};
  if (score.loss) json["loss"] = *score.loss;
  return json;
}

}  // namespace

ChangedScores change_scores(Task& task, const DataChoice& choice) {
  const torch::NoGradGuard no_grad;
  task.model().eval();
  DataChoice all = choice;
  all.examples = all.tokens = 0;
  ChangedScores result{.metric = task.metric(), .what = task.describe(all), .own = score_of(task, all), .layers = {}};
  int64_t number = 0;
  const analysis::SeenByLayers seen = seen_by_causal(task, choice, result);
  for (const auto& module : task.model().modules()) {
    const auto* layer = module->as<nn::EncoderLayerImpl>();
    if (layer == nullptr) continue;
    const std::string name = "layer " + std::to_string(++number);
    if (layer->attention->primal() == nullptr) continue;
    const auto with = [&](InsteadOfScores instead) { return score_with(task, all, layer->attention, seen, instead); };
    result.layers.push_back({.name = name,
                             .best_pairs = with(InsteadOfScores::best_pairs),
                             .random = with(InsteadOfScores::random_directions),
                             .none = with(InsteadOfScores::none)});
  }
  return result;
}

std::string to_text(const ChangedScores& scores) {
  const auto score = [&](const TaskScore& value) { return score_text(scores, value); };
  std::string text = "\n" + title_of(scores) + "\n";
  text += base::printed("%-22s %22s %22s %22s\n", "with scores instead:", "best pairs", "random", "none");
  for (const ChangedLayer& layer : scores.layers) {
    text += base::printed("%-22s %22s %22s %22s\n", layer.name.c_str(), score(layer.best_pairs).c_str(),
                          score(layer.random).c_str(), score(layer.none).c_str());
  }
  return text;
}

nlohmann::json to_json(const ChangedScores& scores) {
  nlohmann::json json = {{"metric", scores.metric},
                         {"what", scores.what},
                         {"own", score_json(scores.own)},
                         {"layers", nlohmann::json::array()}};
  if (!scores.shown.empty()) json["shown"] = scores.shown;
  for (const ChangedLayer& layer : scores.layers) {
    json["layers"].push_back({{"name", layer.name},
                              {"best_pairs", score_json(layer.best_pairs)},
                              {"random", score_json(layer.random)},
                              {"none", score_json(layer.none)}});
  }
  return json;
}

report::ChangedTable changed_table(const ChangedScores& scores) {
  report::ChangedTable table{.title = title_of(scores), .columns = {"best pairs", "random", "none"}, .rows = {}};
  for (const ChangedLayer& layer : scores.layers) {
    table.rows.push_back({layer.name, score_text(scores, layer.best_pairs), score_text(scores, layer.random),
                          score_text(scores, layer.none)});
  }
  return table;
}

}  // namespace primal::tasks
