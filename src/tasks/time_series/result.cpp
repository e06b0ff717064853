#include <cmath>
#include <nlohmann/json.hpp>

#include "primal/error.h"
#include "tasks/time_series/run.h"

namespace primal::tasks {

namespace {

nlohmann::json test_json(const RunResult& result) {
  if (!result.test) return nullptr;
  nlohmann::json json = *result.test;
  if (result.measure == train::Measure::accuracy) {
    json["macro_f1"] = train::macro_f1_of(result.test->confusion);
    json["classes"] = result.classes;
  }
  return json;
}

// Accuracy in files of runs that began before there was another.
train::Measure measure_in(const nlohmann::json& json, const std::filesystem::path& path) {
  const std::string key = json.value("measure", train::key_of(train::Measure::accuracy));
  const auto measure = train::measure_of_key(key);
  if (!measure) throw Error(path.string() + ": measure: expected accuracy or r2, got \"" + key + "\"");
  return *measure;
}

}  // namespace

std::string to_text(const RunResult& result) {
  nlohmann::json json = {{"preset", result.preset},
                         {"model", result.model},
                         {"data", result.data},
                         {"protocol", name_of(result.protocol)},
                         {"refit", result.refit},
                         {"kept_last", result.kept_last},
                         {"seed", result.seed},
                         {"epochs", result.epochs},
                         {"best_epoch", result.best_epoch},
                         {"measure", train::key_of(result.measure)},
                         {train::validation_key_of(result.measure), result.validation_score},  // null if NaN
                         {"test", test_json(result)},
                         {"seconds", result.seconds},
                         {"tokens_per_second", result.tokens_per_second},
                         {"peak_memory_mb", result.peak_memory_mb},
                         {"parameters", result.parameters},
                         {"threads", result.threads},
                         {"cpu", result.cpu}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

RunResult read_result(const std::filesystem::path& path) {
  const nlohmann::json json = train::read_json(path);
  try {
    RunResult result;
    json.at("preset").get_to(result.preset);
    json.at("model").get_to(result.model);
    json.at("data").get_to(result.data);
    result.protocol = json.at("protocol") == "paper" ? Protocol::paper : Protocol::honest;
    json.at("refit").get_to(result.refit);
    result.kept_last = json.value("kept_last", false);
    json.at("seed").get_to(result.seed);
    json.at("epochs").get_to(result.epochs);
    json.at("best_epoch").get_to(result.best_epoch);
    result.measure = measure_in(json, path);
    const auto& validation = json.at(train::validation_key_of(result.measure));
    result.validation_score = validation.is_null() ? std::nan("") : validation.get<double>();
    if (const auto& test = json.at("test"); !test.is_null()) {
      result.test = test.get<train::Evaluation>();
      if (result.test->measure != result.measure) {
        throw Error(path.string() + ": measure is not that of test");
      }
      if (result.measure == train::Measure::accuracy) test.at("classes").get_to(result.classes);
    }
    json.at("seconds").get_to(result.seconds);
    json.at("tokens_per_second").get_to(result.tokens_per_second);
    json.at("peak_memory_mb").get_to(result.peak_memory_mb);
    json.at("parameters").get_to(result.parameters);
    json.at("threads").get_to(result.threads);
    json.at("cpu").get_to(result.cpu);
    return result;
  } catch (const nlohmann::json::exception& error) {
    throw Error(path.string() + ": " + train::reason_of(error));
  }
}

}  // namespace primal::tasks
