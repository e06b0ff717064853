// What a model is judged by.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace primal::run {

struct Metric {
  std::string key;               ///< in files: "accuracy", "r2", "perplexity"
  std::string name;              ///< for people: "accuracy", "R2"
  bool share = false;            ///< of 1, shown in percent
  bool lower_is_better = false;  ///< an error or a perplexity

  bool operator==(const Metric&) const = default;
};

/// The share of right classes, and what files mean that do not say what they measure.
inline const Metric& accuracy_metric() {
  static const Metric metric{.key = "accuracy", .name = "accuracy", .share = true};
  return metric;
}
/// 1 - squared error / that of always answering the mean.
inline const Metric& r2_metric() {
  static const Metric metric{.key = "r2", .name = "R2"};
  return metric;
}

/// Whether score `a` is better than score `b`.
inline bool is_better(const Metric& metric, double a, double b) { return metric.lower_is_better ? a < b : a > b; }

/// "96.3 %", "0.873", "-1.32e+34".
std::string format_score(const Metric& metric, double score);

/// The name in a narrow place: "acc".
std::string short_name(const Metric& metric);

/// The key of the score on the validation part: "validation_accuracy".
std::string validation_key(const Metric& metric);

void to_json(nlohmann::json& json, const Metric& metric);
/// From what to_json() wrote, or from the key alone, as files of older runs have it. Throws Error, which `where`
/// begins.
Metric metric_from(const nlohmann::json& json, const std::string& where);

}  // namespace primal::run
