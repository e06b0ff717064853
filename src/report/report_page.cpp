#include "report/report_page.h"

#include <primal/error.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "report/comparison.h"
#include "report/page.h"
#include "report/run_json.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

std::string summary_of(const run::Run& run) {
  if (!run.result) {
    const int64_t steps = run.metrics.training.empty() ? 0 : run.metrics.training.back().step;
    return run.name + ": unfinished, " + std::to_string(steps) + " steps";
  }
  const run::Result& result = *run.result;
  const std::string score = result.test ? run::format_score(result.metric, result.test->score) : "not looked at";
  return run.name + ": " + result.preset + ", " + result.model + ", seed " + std::to_string(result.seed) + ", test " +
         result.metric.name + " " + score + " (" + name_of(result.protocol) + " protocol)";
}

Json comparison_json(const std::vector<run::Run>& runs) {
  Json groups = Json::array(), differences = Json::array();
  for (const Group& group : groups_of(runs)) {
    groups.push_back({{"preset", group.preset},
                      {"model", group.model},
                      {"data", group.data},
                      {"protocol", name_of(group.protocol)},
                      {"runs", group.runs},
                      {"metric", group.metric},
                      {"score", rounded(group.score)},
                      {"deviation", rounded(group.score_deviation)},
                      {"seconds", rounded(group.seconds)}});
  }
  for (const Difference& difference : config_differences(runs)) {
    differences.push_back({{"key", difference.key}, {"values", difference.values}});
  }
  return {{"groups", groups}, {"differences", differences}};
}

}  // namespace

std::string report_page(const std::vector<run::Run>& runs) {
  if (runs.empty()) throw Error("report: expected at least one run directory, got none");
  const std::vector<std::string> names = short_names(runs);
  Json data = {{"kind", "runs"}, {"runs", Json::array()}, {"comparison", nullptr}};
  std::string summary;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    data["runs"].push_back(run_json(runs[i], names[i]));
    summary += (i > 0 ? "; " : "") + summary_of(runs[i]);
  }
  if (runs.size() > 1) data["comparison"] = comparison_json(runs);
  const std::string title =
      runs.size() == 1 ? title_of(runs[0]) : "Comparison of " + std::to_string(runs.size()) + " runs";
  return make_page(title + " · primal report", summary, data);
}

}  // namespace primal::report
