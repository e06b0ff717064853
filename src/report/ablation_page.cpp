#include "report/ablation_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "report/page.h"
#include "report/text_table.h"

namespace primal::report {

namespace {

using Json = nlohmann::json;

Json json_of(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"half", estimate.half}, {"count", estimate.count}};
}

Json json_of(const AblationRow& row) {
  Json json = {{"variant", row.name},
               {"group", row.group},
               {"change", row.change},
               {"set", row.set},
               {"run", row.run.string()},
               {"parameters", row.parameters},
               {"seeds", row.seeds},
               {"failed", row.failed},
               {"score", json_of(row.score)},
               {"difference", json_of(row.score_difference)},
               {"objective", json_of(row.objective)},
               {"objective_difference", json_of(row.objective_difference)},
               {"effective_rank", json_of(row.effective_rank)},
               {"effective_rank_difference", json_of(row.effective_rank_difference)},
               {"tokens_per_second", json_of(row.tokens_per_second)},
               {"speed_ratio", json_of(row.speed_ratio)},
               {"peak_memory_mb", json_of(row.memory_mb)},
               {"memory_ratio", json_of(row.memory_ratio)}};
  if (!row.skipped.empty()) json["skipped"] = row.skipped;
  return json;
}

std::string with_half(const char* mean, const char* half, const Estimate& estimate, double scale = 1) {
  const std::string spread = std::isfinite(estimate.half) ? " +- " + number_cell(half, scale * estimate.half) : "";
  return number_cell(mean, scale * estimate.mean) + spread;
}

std::vector<std::string> cells_of(const AblationResults& results, const AblationRow& row) {
  if (!row.skipped.empty()) return {row.name, "-", "-", "-", "-", "-", "-", "-", "-", "not trained: " + row.skipped};
  const bool is_base = &row == &results.rows.front(), share = results.metric.share;
  const double scale = share ? 100 : 1;
  const std::string failed = row.failed > 0 ? " (" + std::to_string(row.failed) + " failed)" : "";
  return {row.name,
          with_half(share ? "%.2f" : "%.3f", share ? "%.2f" : "%.3f", row.score, scale),
          is_base ? "-" : with_half(share ? "%+.2f" : "%+.3f", share ? "%.2f" : "%.3f", row.score_difference, scale),
          std::to_string(row.seeds) + failed,
          with_half("%.3g", "%.2g", row.objective),
          with_half("%.2f", "%.2f", row.effective_rank),
          number_cell("%.3f", static_cast<double>(row.parameters) / 1e6),
          with_half("%.2f", "%.2f", row.speed_ratio),
          with_half("%.2f", "%.2f", row.memory_ratio),
          row.change};
}

}  // namespace

Estimate estimate_of(const std::vector<double>& values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return {base::mean(finite), base::mean_interval(finite), std::ssize(finite)};
}

std::string ablation_table(const AblationResults& results) {
  const std::string unit = results.metric.share ? " %" : "";
  std::vector<std::vector<std::string>> rows = {{"variant", results.part + " " + results.metric.name + unit,
                                                 "difference", "seeds", "|J|", "eff. rank", "M parameters", "speed x",
                                                 "memory x", "what changes"}};
  for (const AblationRow& row : results.rows) rows.push_back(cells_of(results, row));
  return text_table(rows) +
         "+-: half of the 95 % interval (Student) over the seeds; differences and x: to base with the same seed\n";
}

Json to_json(const AblationResults& results) {
  Json rows = Json::array();
  for (const AblationRow& row : results.rows) rows.push_back(json_of(row));
  return {{"title", results.title},       {"part", results.part},   {"metric", results.metric},
          {"protocol", results.protocol}, {"seeds", results.seeds}, {"rows", rows}};
}

std::string ablation_page(const AblationResults& results) {
  Json data = to_json(results);
  data["kind"] = "ablation";
  return make_page("Ablation of " + results.title + " · primal report", ablation_table(results), data);
}

}  // namespace primal::report
