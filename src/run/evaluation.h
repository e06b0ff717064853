// The result of an evaluation, as a plain struct and as JSON.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/metric.h"

namespace primal::run {

struct Evaluation {
  double score = 0;                                   ///< by the metric of the task
  std::optional<double> loss{};                       ///< task loss, mean over the examples; a rollout has none
  std::map<std::string, double> also{};               ///< more numbers: "macro_f1", "rmse", "bits_per_byte"
  std::vector<double> objective{};                    ///< mean J of each primal layer
  nlohmann::json details = nlohmann::json::object();  ///< counts, lists, tables: "confusion", "pairs"; pages draw what
                                                      ///< they know
};

/// A better score, or the same with a smaller loss: on a small validation part many evaluations have the same accuracy.
bool is_better(const Metric& metric, const Evaluation& a, const Evaluation& b);

/// One flat object: loss, the score under the key of the metric, objective, the other numbers, the details.
nlohmann::json to_json(const Evaluation& evaluation, const Metric& metric);
/// The way back. Throws Error, which `where` begins, for what is missing or of another kind. The details are taken as
/// they are: class_details() and target_errors() look into them.
Evaluation evaluation_from(const nlohmann::json& json, const Metric& metric, const std::string& where);

}  // namespace primal::run
