#include "run/evaluation.h"

#include <array>
#include <cmath>

#include "base/json_fields.h"

namespace primal::run {

namespace {

constexpr const char *kLoss = "loss", *kObjective = "objective";

double loss_or_infinity(const Evaluation& evaluation) { return evaluation.loss.value_or(HUGE_VAL); }

}  // namespace

bool is_better(const Metric& metric, const Evaluation& a, const Evaluation& b) {
  if (a.score != b.score) return is_better(metric, a.score, b.score);
  return loss_or_infinity(a) < loss_or_infinity(b);
}

nlohmann::json to_json(const Evaluation& evaluation, const Metric& metric) {
  nlohmann::json json = evaluation.details;
  for (const auto& [name, value] : evaluation.also) json[name] = value;
  if (evaluation.loss) json[kLoss] = *evaluation.loss;
  json[metric.key] = evaluation.score;
  json[kObjective] = evaluation.objective;
  return json;
}

Evaluation evaluation_from(const nlohmann::json& json, const Metric& metric, const std::string& where) {
  const base::Fields fields(json, where);
  Evaluation evaluation;
  evaluation.score = fields.number(metric.key.c_str());
  const double loss = fields.number_if_any(kLoss);
  if (!std::isnan(loss)) evaluation.loss = loss;
  evaluation.objective = fields.numbers_if_any(kObjective);
  for (const auto& [key, value] : json.items()) {
    if (key == metric.key || key == kLoss || key == kObjective) continue;
    if (value.is_number_float()) {
      evaluation.also[key] = value.get<double>();
    } else {
      evaluation.details[key] = value;
    }
  }
  return evaluation;
}

}  // namespace primal::run
