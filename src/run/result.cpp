#include "run/result.h"

#include <primal/error.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json_fields.h"
#include "base/json_file.h"
#include "run/case_details.h"
#include "run/classification.h"
#include "run/rollout_details.h"
#include "run/target_errors.h"
#include "run/text_details.h"

namespace primal::run {

namespace {

// Files of older runs have "measure", the key alone, or nothing.
Metric metric_in(const nlohmann::json& json, const std::string& file) {
  for (const char* key : {"metric", "measure"}) {
    if (json.contains(key)) return metric_from(json.at(key), file + ": field \"" + key + "\"");
  }
  return accuracy_metric();
}

Protocol protocol_in(const base::Fields& fields) {
  const std::string name = fields.text("protocol");
  for (const Protocol protocol : {Protocol::honest, Protocol::paper}) {
    if (name == name_of(protocol)) return protocol;
  }
  fields.fail("protocol", "expected \"honest\" or \"paper\", got \"" + name + "\"");
}

bool is_whole(double value) { return value == std::floor(value); }

}  // namespace

const char* name_of(Protocol protocol) { return protocol == Protocol::honest ? "honest" : "paper"; }

nlohmann::json to_json(const Result& result) {
  return {{"family", result.family},
          {"preset", result.preset},
          {"model", result.model},
          {"data", result.data},
          {"protocol", name_of(result.protocol)},
          {"refit", result.refit},
          {"kept_last", result.kept_last},
          {"seed", result.seed},
          {"steps", result.steps},
          {"best_step", result.best_step},
          {"epochs", whole_if_it_is(result.epochs)},
          {"best_epoch", whole_if_it_is(result.best_epoch)},
          {"metric", result.metric},
          {"measure", result.metric.key},                            // what readers of older files look for
          {validation_key(result.metric), result.validation_score},  // null if NaN
          {"test", result.test ? to_json(*result.test, result.metric) : nlohmann::json()},
          {"seconds", result.seconds},
          {"tokens_per_second", result.tokens_per_second},
          {"peak_memory_mb", result.peak_memory_mb},
          {"parameters", result.parameters},
          {"threads", result.threads},
          {"cpu", result.cpu}};
}

std::string to_text(const Result& result) {
  return to_json(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result parse_result(std::string_view text, const std::string& file) {
  const nlohmann::json json = base::parse_object(text, file);
  const base::Fields fields(json, file);
  Result result;
  result.family = fields.text_if_any("family");
  result.preset = fields.text("preset");
  result.model = fields.text("model");
  result.data = fields.text("data");
  result.protocol = protocol_in(fields);
  result.refit = fields.flag_if_any("refit");
  result.kept_last = fields.flag_if_any("kept_last");
  result.seed = fields.whole("seed");
  result.steps = fields.whole_if_any("steps");
  result.epochs = fields.number("epochs");
  const auto is_chosen = [&](const char* key) { return json.contains(key) && fields.number(key) >= 0; };
  if (is_chosen("best_step")) result.best_step = fields.whole("best_step");
  if (is_chosen("best_epoch")) result.best_epoch = fields.number("best_epoch");
  result.metric = metric_in(json, file);
  result.validation_score = fields.number_if_any(validation_key(result.metric).c_str());
  if (const auto test = json.find("test"); test != json.end() && !test->is_null()) {
    fields.object("test");  // it must be one
    result.test = evaluation_from(*test, result.metric, file + ": test");
    class_details(*result.test, file + ": test");
    case_details(*result.test, file + ": test");
    rollout_details(*result.test, file + ": test");
    target_errors(*result.test, file + ": test");
    text_details(*result.test, file + ": test");
  }
  result.seconds = fields.number_if_any("seconds");
  result.tokens_per_second = fields.number_if_any("tokens_per_second");
  result.peak_memory_mb = fields.number_if_any("peak_memory_mb");
  result.parameters = fields.whole_if_any("parameters");
  result.threads = fields.whole_if_any("threads");
  result.cpu = fields.text_if_any("cpu");
  return result;
}

Result read_result(const std::filesystem::path& path) {
  const auto text = base::read_text_if_any(path);
  if (!text) throw Error(path.string() + ": there is no such file");
  return parse_result(*text, path.string());
}

std::string describe_best(const Result& result) {
  if (result.steps > 0 && !(is_whole(result.epochs) && is_whole(result.best_epoch))) {
    return "step " + std::to_string(result.best_step) + " of " + std::to_string(result.steps);
  }
  return "epoch " + base::format_fixed(result.best_epoch, 0) + " of " + base::format_fixed(result.epochs, 0);
}

}  // namespace primal::run
