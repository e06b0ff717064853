#include "report/sweep_page.h"

#include <nlohmann/json.hpp>

#include "report/page.h"

namespace primal::report {

std::size_t best_cell(const SweepResults& results) {
  std::size_t best = results.cells.size();
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const SweepCell& cell = results.cells[i];
    if (!cell.finished || !std::isfinite(cell.score)) continue;
    if (best == results.cells.size() || run::is_better(results.metric, cell.score, results.cells[best].score)) best = i;
  }
  return best;
}

std::string sweep_page(const SweepResults& results) {
  using Json = nlohmann::json;
  Json keys = Json::array(), cells = Json::array();
  for (const SweepKey& key : results.keys) keys.push_back({{"name", key.name}, {"values", key.values}});
  for (const SweepCell& cell : results.cells) {
    cells.push_back({{"values", cell.values},
                     {"score", rounded(cell.score)},
                     {"deviation", rounded(cell.deviation)},
                     {"seeds", cell.seeds},
                     {"seconds", rounded(cell.seconds)},
                     {"run", cell.run.string()},
                     {"finished", cell.finished},
                     {"state", state_of(cell)}});
  }
  const std::size_t best = best_cell(results);
  const Json data = {{"kind", "sweep"},
                     {"title", results.title},
                     {"part", results.part},
                     {"metric", results.metric},
                     {"protocol", results.protocol},
                     {"keys", keys},
                     {"cells", cells},
                     {"best", best < results.cells.size() ? Json(best) : Json()}};
  return make_page("Sweep of " + results.title + " · primal report", sweep_table(results), data);
}

}  // namespace primal::report
