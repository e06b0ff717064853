#include "report/ablation_page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "report/page.h"
#include "report/text_table.h"

namespace primal::report {

namespace {

using Json = nlohmann::json;

Json json_of(const Estimate& estimate) { return {{"mean", estimate.mean}, {"half", estimate.half}}; }

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
               {"difference", json_of(row.difference)},
               {"objective", json_of(row.objective)},
               {"effective_rank", json_of(row.effective_rank)},
               {"tokens_per_second", json_of(row.tokens_per_second)},
               {"peak_memory_mb", json_of(row.memory_mb)}};
  if (!row.skipped.empty()) json["skipped"] = row.skipped;
  return json;
}

std::string with_half(const char* mean, const char* half, const Estimate& estimate, double scale = 1) {
  const std::string spread = std::isfinite(estimate.half) ? " +- " + number_cell(half, scale * estimate.half) : "";
  return number_cell(mean, scale * estimate.mean) + spread;
}

std::string ratio(const Estimate& value, const Estimate& base) { return number_cell("%.2f", value.mean / base.mean); }

std::vector<std::string> cells_of(const AblationResults& results, const AblationRow& row) {
  if (!row.skipped.empty()) return {row.name, "-", "-", "-", "-", "-", "-", "-", "-", "not trained: " + row.skipped};
  const AblationRow& base = results.rows.front();
  const bool is_base = &row == &base, share = results.metric.share;
  const double scale = share ? 100 : 1;
  const std::string failed = row.failed > 0 ? " (" + std::to_string(row.failed) + " failed)" : "";
  return {row.name,
          with_half(share ? "%.2f" : "%.3f", share ? "%.2f" : "%.3f", row.score, scale),
          is_base ? "-" : with_half(share ? "%+.2f" : "%+.3f", share ? "%.2f" : "%.3f", row.difference, scale),
          std::to_string(row.seeds) + failed,
          number_cell("%.3g", row.objective.mean),
          number_cell("%.1f", row.effective_rank.mean),
          number_cell("%.3f", static_cast<double>(row.parameters) / 1e6),
          ratio(row.tokens_per_second, base.tokens_per_second),
          ratio(row.memory_mb, base.memory_mb),
          row.change};
}

}  // namespace

Estimate estimate_of(const std::vector<double>& values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return {base::mean(finite), base::mean_interval(finite)};
}

std::string ablation_table(const AblationResults& results) {
  const std::string unit = results.metric.share ? " %" : "";
  std::vector<std::vector<std::string>> rows = {{"variant", results.part + " " + results.metric.name + unit,
                                                 "difference", "seeds", "|J|", "eff. rank", "M parameters", "speed x",
                                                 "memory x", "what changes"}};
  for (const AblationRow& row : results.rows) rows.push_back(cells_of(results, row));
  return text_table(rows);
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
