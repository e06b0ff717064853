#include "report/run_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/findings.h"
#include "base/statistics.h"
#include "report/case_json.h"
#include "report/matrix_json.h"
#include "report/page.h"
#include "report/rollout_json.h"
#include "report/text_json.h"
#include "run/case_details.h"
#include "run/classification.h"
#include "run/rollout_details.h"
#include "run/target_errors.h"
#include "run/text_details.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

/// One list of numbers: a member of each record.
template <typename Record, typename Member>
Json column(const std::vector<Record>& records, Member member) {
  Json values = Json::array();
  for (const Record& record : records) {
    if constexpr (std::is_same_v<decltype(record.*member), const double&>) {
      values.push_back(rounded(record.*member));
    } else {
      values.push_back(record.*member);
    }
  }
  return values;
}

/// [layers][records]
template <typename Record>
Json objectives(const std::vector<Record>& records) {
  std::size_t layers = 0;
  for (const Record& record : records) layers = std::max(layers, record.objective.size());
  Json curves = Json::array();
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Json& curve = curves.emplace_back(Json::array());
    for (const Record& record : records) {
      curve.push_back(layer < record.objective.size() ? rounded(record.objective[layer]) : Json());
    }
  }
  return curves;
}

Json training_json(const std::vector<run::TrainRecord>& records) {
  using run::TrainRecord;
  return {{"step", column(records, &TrainRecord::step)},
          {"epoch", column(records, &TrainRecord::epoch)},
          {"loss", column(records, &TrainRecord::loss)},
          {"taskLoss", column(records, &TrainRecord::task_loss)},
          {"ksvd", column(records, &TrainRecord::ksvd)},
          {"score", column(records, &TrainRecord::score)},
          {"objective", objectives(records)},
          {"gradientNorm", column(records, &TrainRecord::gradient_norm)},
          {"learningRate", column(records, &TrainRecord::learning_rate)}};
}

Json evaluations_json(const std::vector<run::EvaluationRecord>& records) {
  using run::EvaluationRecord;
  return {{"step", column(records, &EvaluationRecord::step)},
          {"epoch", column(records, &EvaluationRecord::epoch)},
          {"loss", column(records, &EvaluationRecord::loss)},
          {"score", column(records, &EvaluationRecord::score)},
          {"objective", objectives(records)}};
}

void add_targets(Json& json, const run::TargetErrors& errors) {
  json["rmse"] = rounded(errors.root_mean_square);
  json["mae"] = rounded(errors.mean);
  json["medianError"] = rounded(errors.median);
  json["cases"] = errors.cases;
  json["pairs"] = errors.pairs;  // all digits: the page looks at differences
}

void add_classes(Json& json, const run::ClassDetails& details, double accuracy) {
  Json classes = Json::array();
  std::int64_t cases = 0, hits = 0;
  const std::vector<run::ClassScores> scores = run::class_scores(details.confusion);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    cases += scores[i].cases;
    hits += details.confusion[i][i];
    classes.push_back({{"name", details.classes[i]},
                       {"cases", scores[i].cases},
                       {"precision", rounded(scores[i].precision)},
                       {"recall", rounded(scores[i].recall)},
                       {"f1", rounded(scores[i].f1)}});
  }
  json["classes"] = classes;
  json["confusion"] = details.confusion;
  json["cases"] = cases;
  json["hits"] = hits;
  if (cases > 0) {
    const auto [low, high] = base::wilson_interval(accuracy, static_cast<double>(cases));
    json["interval"] = {rounded(low), rounded(high)};
  }
}

/// Of tokens, for instance: people want all digits of it.
bool is_count(double value) { return std::isfinite(value) && value == std::trunc(value) && std::abs(value) < 1e15; }

/// The details that the page knows how to draw; of the other numbers it makes a table.
Json test_json(const run::Result& result) {
  if (!result.test) return {{"score", nullptr}, {"also", Json::object()}};
  const run::Evaluation& test = *result.test;
  Json json = {{"score", rounded(test.score)}, {"loss", test.loss ? rounded(*test.loss) : Json()}};
  Json also = Json::object();
  for (const auto& [name, value] : test.also) also[name] = is_count(value) ? Json(value) : rounded(value);
  if (const auto macro_f1 = test.also.find("macro_f1"); macro_f1 != test.also.end()) {
    json["macroF1"] = rounded(macro_f1->second);
    also.erase("macro_f1");
  }
  if (const auto classes = run::class_details(test)) add_classes(json, *classes, run::accuracy_of(classes->confusion));
  if (const auto errors = run::target_errors(test)) {
    add_targets(json, *errors);
    for (const char* drawn : {"rmse", "mae", "median_error"}) also.erase(drawn);
  }
  json["also"] = also;
  add_cases(json, run::case_details(test));
  add_text_details(json, run::text_details(test));
  json["rollouts"] = rollouts_json(run::rollout_details(test));
  return json;
}

Json result_json(const run::Result& result) {
  return {{"best", result.best_step < 0 && result.best_epoch < 1 ? "" : run::describe_best(result)},
          {"bestStep", result.best_step},
          {"bestEpoch", rounded(result.best_epoch)},
          {"refit", result.refit},
          {"keptLast", result.kept_last},
          {"validationScore", rounded(result.validation_score)},
          {"test", test_json(result)},
          {"seconds", rounded(result.seconds)},
          {"tokensPerSecond", rounded(result.tokens_per_second)},
          {"peakMemoryMb", rounded(result.peak_memory_mb)},
          {"parameters", result.parameters},
          {"threads", result.threads},
          {"cpu", result.cpu}};
}

/// Lambda of every head, sorted from large to small: mean, smallest and largest over the heads at each place.
Json lambda_json(const run::LayerFacts& layer) {
  std::vector<std::vector<double>> heads = layer.lambda;
  for (auto& head : heads) std::ranges::sort(head, std::greater<>());
  Json means = Json::array(), low = Json::array(), high = Json::array();
  for (std::size_t i = 0; !heads.empty() && i < heads[0].size(); ++i) {
    std::vector<double> values;
    for (const auto& head : heads) values.push_back(head[i]);
    means.push_back(rounded(base::mean(values)));
    low.push_back(rounded(*std::ranges::min_element(values)));
    high.push_back(rounded(*std::ranges::max_element(values)));
  }
  return {{"mean", means}, {"low", low}, {"high", high}};
}

Json layer_json(const run::LayerFacts& layer) {
  return {{"name", layer.name},
          {"rank", layer.rank},
          {"rows", layer.rows},
          {"tokens", layer.tokens},
          {"heads", layer.heads},
          {"lambda", lambda_json(layer)},
          {"singularValuesE", numbers_json(layer.singular_values_e)},
          {"singularValuesR", numbers_json(layer.singular_values_r)},
          {"effectiveRankE", rounded(layer.effective_rank_e)},
          {"effectiveRankR", rounded(layer.effective_rank_r)}};
}

/// At most kShown of the time scales, evenly chosen: at which share of the channels they stand, and in tokens.
Json time_scales_json(const run::TimeScales& memory) {
  constexpr std::size_t kShown = 101;
  const std::size_t count = memory.tokens.size(), shown = std::min(count, kShown);
  Json share = Json::array(), tokens = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t at = shown == 1 ? 0 : i * (count - 1) / (shown - 1);
    share.push_back(rounded(count == 1 ? 0.5 : static_cast<double>(at) / static_cast<double>(count - 1)));
    tokens.push_back(rounded(memory.tokens[at]));
  }
  return {{"layer", memory.layer}, {"memory", memory.memory}, {"share", share}, {"tokens", tokens}};
}

/// The set, or the file that took its place; "" if the configuration has neither.
std::string data_of(const run::Config& config) {
  const std::string file = config.find_text("data.train").value_or("");
  return file.empty() ? config.find_text("data.set").value_or("") : std::filesystem::path(file).stem().string();
}

/// From result.json, or while there is none from config.toml, as far as it says.
Json identity_json(const run::Run& run) {
  if (run.result) {
    const run::Result& result = *run.result;
    return {{"preset", result.preset},
            {"model", result.model},
            {"data", result.data},
            {"protocol", name_of(result.protocol)},
            {"seed", std::to_string(result.seed)}};
  }
  const auto setting = [&run](const char* key) { return run.config.find_text(key).value_or(""); };
  return {{"preset", setting("run.preset")},
          {"model", ""},
          {"data", data_of(run.config)},
          {"protocol", setting("run.protocol")},
          {"seed", setting("train.seed")}};
}

}  // namespace

std::string title_of(const run::Run& run) {
  if (run.result) return run.result->data;
  const std::string data = data_of(run.config);
  return data.empty() ? run.name : data;
}

Json layers_json(const run::Spectra& spectra) {
  Json layers = Json::array();
  for (const auto& layer : spectra.layers) layers.push_back(layer_json(layer));
  return layers;
}

Json memories_json(const run::Spectra& spectra) {
  Json memories = Json::array();
  for (const auto& memory : spectra.time_scales) memories.push_back(time_scales_json(memory));
  return memories;
}

Json findings_json(const std::vector<analysis::Finding>& findings) {
  Json list = Json::array();
  for (const analysis::Finding& finding : findings) {
    list.push_back({{"severity", finding.severity == analysis::Severity::warning ? "warning" : "note"},
                    {"title", finding.title},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  return list;
}

Json run_json(const run::Run& run, const std::string& name) {
  return {{"name", name},
          {"directory", run.directory.string()},
          {"title", title_of(run)},
          {"identity", identity_json(run)},
          {"metric", metric_of(run)},
          {"training", training_json(run.metrics.training)},
          {"validation", evaluations_json(run.metrics.split("validation"))},
          {"test", evaluations_json(run.metrics.split("test"))},
          {"result", run.result ? result_json(*run.result) : Json()},
          {"layers", layers_json(run.spectra)},
          {"matrices", matrices_json(run.spectra)},
          {"timeScales", memories_json(run.spectra)},
          {"spectraOf", run.spectra.what},
          {"findings", findings_json(analysis::findings(analysis::facts_of(run)))},
          {"config", run.config.text}};
}

}  // namespace primal::report
