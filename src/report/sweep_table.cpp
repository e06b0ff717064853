#include "report/sweep_page.h"
#include "report/text_table.h"

namespace primal::report {
namespace {

std::vector<std::string> row_of(const SweepResults& results, const SweepCell& cell) {
  std::vector<std::string> row;
  for (const SweepKey& key : results.keys) {
    const auto value = cell.values.find(key.name);
    row.push_back(value == cell.values.end() ? "" : value->second);
  }
  for (const double value : {cell.score, cell.deviation}) {
    row.push_back(results.metric.share ? number_cell("%.2f", 100 * value) : number_cell("%.3f", value));
  }
  row.push_back(std::to_string(cell.seeds));
  row.push_back(number_cell("%.1f", cell.seconds));
  row.push_back(cell.finished ? cell.run.string() : state_of(cell));
  return row;
}

}  // namespace

std::string state_of(const SweepCell& cell) { return cell.failed > 0 ? "failed" : "unfinished"; }

std::string sweep_table(const SweepResults& results) {
  std::vector<std::string> titles;
  for (const SweepKey& key : results.keys) titles.push_back(key.name);
  titles.insert(titles.end(), {results.part + " " + results.metric.name + (results.metric.share ? " %" : ""), "+-",
                               "seeds", "seconds", "run"});
  std::vector<std::vector<std::string>> rows = {titles};
  for (const SweepCell& cell : results.cells) rows.push_back(row_of(results, cell));

  return text_table(rows, best_cell(results) < results.cells.size() ? best_cell(results) + 1 : 0);
}

}  // namespace primal::report
