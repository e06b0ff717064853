#include "run/metric.h"

#include <primal/error.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json_fields.h"
#include "base/text.h"

namespace primal::run {

std::string format_score(const Metric& metric, double score) {
  if (metric.share) return base::format_percent(score);
  constexpr double kReadable = 1000;
  return std::abs(score) < kReadable ? base::format_fixed(score, 3) : base::format_metric(score);
}

std::string short_name(const Metric& metric) { return metric.key == "accuracy" ? "acc" : metric.name; }

std::string validation_key(const Metric& metric) { return "validation_" + metric.key; }

void to_json(nlohmann::json& json, const Metric& metric) {
  json = {
      {"key", metric.key}, {"name", metric.name}, {"share", metric.share}, {"lower_is_better", metric.lower_is_better}};
}

Metric metric_from(const nlohmann::json& json, const std::string& where) {
  if (json.is_string()) {
    for (const Metric& metric : {accuracy_metric(), r2_metric()}) {
      if (json == metric.key) return metric;
    }
    base::fail(where, "expected \"accuracy\" or \"r2\", got ", base::in_quotes(json.get<std::string>()));
  }
  if (!json.is_object()) base::fail(where, "expected the description of a metric, got ", json.type_name());
  const base::Fields fields(json, where);
  Metric metric{.key = fields.text("key"),
                .name = fields.text("name"),
                .share = fields.flag_if_any("share"),
                .lower_is_better = fields.flag_if_any("lower_is_better")};
  if (metric.key.empty()) fields.fail("key", "is empty");
  return metric;
}

}  // namespace primal::run
