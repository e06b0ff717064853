#include <algorithm>
#include <cstdio>

#include "report/sweep_page.h"

namespace primal::report {
namespace {

std::string number(const char* pattern, double value) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::vector<std::string> row_of(const SweepResults& results, const SweepCell& cell) {
  std::vector<std::string> row;
  for (const SweepKey& key : results.keys) {
    const auto value = cell.values.find(key.name);
    row.push_back(value == cell.values.end() ? "" : value->second);
  }
  for (const double value : {cell.score, cell.deviation}) {
    row.push_back(results.metric.share ? number("%.2f", 100 * value) : number("%.3f", value));
  }
  row.push_back(std::to_string(cell.seeds));
  row.push_back(number("%.1f", cell.seconds));
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

  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const std::size_t best = best_cell(results) + 1;  // row 0 holds the titles
  std::string table;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    table += r == best ? "* " : "  ";
    for (std::size_t i = 0; i + 1 < rows[r].size(); ++i) {
      table.append(widths[i] - rows[r][i].size(), ' ').append(rows[r][i]).append("  ");
    }
    table.append(rows[r].back()).append("\n");
  }
  return table;
}

}  // namespace primal::report
