#include "report/run_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/page.h"
#include "report/statistics.h"

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

Json epochs_json(const std::vector<EpochRecord>& epochs) {
  return {{"epoch", column(epochs, &EpochRecord::epoch)},
          {"loss", column(epochs, &EpochRecord::loss)},
          {"taskLoss", column(epochs, &EpochRecord::task_loss)},
          {"ksvd", column(epochs, &EpochRecord::ksvd)},
          {"score", column(epochs, &EpochRecord::score)},
          {"objective", objectives(epochs)},
          {"gradientNorm", column(epochs, &EpochRecord::gradient_norm)},
          {"learningRate", column(epochs, &EpochRecord::learning_rate)}};
}

Json evaluations_json(const std::vector<EvaluationRecord>& records) {
  return {{"epoch", column(records, &EvaluationRecord::epoch)},
          {"loss", column(records, &EvaluationRecord::loss)},
          {"score", column(records, &EvaluationRecord::score)},
          {"objective", objectives(records)}};
}

Json target_errors_json(const TestResult& test) {
  const train::TargetErrors& errors = *test.errors;
  return {{"score", rounded(test.score)},
          {"loss", rounded(test.loss)},
          {"rmse", rounded(errors.root_mean_square)},
          {"mae", rounded(errors.mean)},
          {"medianError", rounded(errors.median)},
          {"cases", errors.cases},
          {"pairs", errors.pairs}};  // all digits: the page looks at differences
}

Json test_json(const TestResult& test) {
  if (test.errors) return target_errors_json(test);
  Json classes = Json::array();
  std::int64_t cases = 0, hits = 0;
  const std::vector<ClassScores> scores = class_scores(test.confusion);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    cases += scores[i].cases;
    hits += test.confusion[i][i];
    classes.push_back({{"name", test.classes[i]},
                       {"cases", scores[i].cases},
                       {"precision", rounded(scores[i].precision)},
                       {"recall", rounded(scores[i].recall)},
                       {"f1", rounded(scores[i].f1)}});
  }
  Json json = {{"score", rounded(test.score)},
               {"loss", rounded(test.loss)},
               {"macroF1", rounded(test.macro_f1)},
               {"classes", classes},
               {"confusion", test.confusion},
               {"cases", cases},
               {"hits", hits}};
  if (cases > 0) {
    const auto [low, high] = wilson_interval(test.score, static_cast<double>(cases));
    json["interval"] = {rounded(low), rounded(high)};
  }
  return json;
}

Json result_json(const Result& result) {
  return {{"bestEpoch", result.best_epoch},
          {"epochs", result.epochs},
          {"refit", result.refit},
          {"keptLast", result.kept_last},
          {"validationScore", rounded(result.validation_score)},
          {"test", test_json(result.test)},
          {"seconds", rounded(result.seconds)},
          {"tokensPerSecond", rounded(result.tokens_per_second)},
          {"peakMemoryMb", rounded(result.peak_memory_mb)},
          {"parameters", result.parameters},
          {"threads", result.threads},
          {"cpu", result.cpu}};
}

/// Lambda of every head, sorted from large to small: mean, smallest and largest over the heads at each place.
Json lambda_json(const analysis::LayerFacts& layer) {
  std::vector<std::vector<double>> heads = layer.lambda;
  for (auto& head : heads) std::ranges::sort(head, std::greater<>());
  Json means = Json::array(), low = Json::array(), high = Json::array();
  for (std::size_t i = 0; !heads.empty() && i < heads[0].size(); ++i) {
    std::vector<double> values;
    for (const auto& head : heads) values.push_back(head[i]);
    means.push_back(rounded(mean(values)));
    low.push_back(rounded(*std::ranges::min_element(values)));
    high.push_back(rounded(*std::ranges::max_element(values)));
  }
  return {{"mean", means}, {"low", low}, {"high", high}};
}

Json layer_json(const analysis::LayerFacts& layer) {
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

Json findings_json(const Run& run) {
  Json list = Json::array();
  for (const analysis::Finding& finding : analysis::findings(facts_of(run))) {
    list.push_back({{"severity", finding.severity == analysis::Severity::warning ? "warning" : "note"},
                    {"title", finding.title},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  return list;
}

/// The set, or the file that took its place; "" if the configuration has neither.
std::string data_of(const Config& config) {
  const std::string file = config.find_text("data.train").value_or("");
  return file.empty() ? config.find_text("data.set").value_or("") : std::filesystem::path(file).stem().string();
}

/// From result.json, or while there is none from config.toml, as far as it says.
Json identity_json(const Run& run) {
  if (run.result) {
    const Result& result = *run.result;
    return {{"preset", result.preset},
            {"model", result.model},
            {"data", result.data},
            {"protocol", result.protocol},
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

Json numbers_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (double value : values) list.push_back(rounded(value));
  return list;
}

std::string title_of(const Run& run) {
  if (run.result) return run.result->data;
  const std::string data = data_of(run.config);
  return data.empty() ? run.name : data;
}

Json run_json(const Run& run, const std::string& name) {
  Json layers = Json::array();
  for (const auto& layer : run.layers) layers.push_back(layer_json(layer));
  return {{"name", name},
          {"directory", run.directory.string()},
          {"title", title_of(run)},
          {"identity", identity_json(run)},
          {"measure", train::key_of(measure_of(run))},
          {"epochs", epochs_json(run.metrics.epochs)},
          {"validation", evaluations_json(run.metrics.split("validation"))},
          {"test", evaluations_json(run.metrics.split("test"))},
          {"result", run.result ? result_json(*run.result) : Json()},
          {"layers", layers},
          {"findings", findings_json(run)},
          {"config", run.config.text}};
}

}  // namespace primal::report
