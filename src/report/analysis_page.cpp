#include "report/analysis_page.h"

#include <nlohmann/json.hpp>

#include "report/matrix_json.h"
#include "report/page.h"
#include "report/run_json.h"

namespace primal::report {
namespace {

using Json = nlohmann::json;

Json row_json(const KsvdTable::Row& row) {
  Json cells = Json::array();
  for (const KsvdTable::Cell& cell : row.cells) {
    cells.push_back({{"text", cell.text}, {"mean", rounded(cell.mean)}, {"deviation", rounded(cell.deviation)}});
  }
  return {{"label", row.label}, {"wanted", row.wanted}, {"isShare", row.is_share}, {"cells", cells}};
}

Json table_json(const KsvdTable& table) {
  Json rows = Json::array(), explained = Json::array();
  for (const KsvdTable::Row& row : table.rows) rows.push_back(row_json(row));
  for (const std::vector<double>& shares : table.explained) explained.push_back(numbers_json(shares));
  return {{"layer", table.layer}, {"about", table.about},     {"columns", table.columns}, {"rows", rows},
          {"grade", table.grade}, {"verdict", table.verdict}, {"explained", explained}};
}

Json analysed_json(const AnalysisPage::Run& run) {
  Json ksvd = Json::array();
  for (const KsvdTable& table : run.ksvd) ksvd.push_back(table_json(table));
  return {{"name", run.name},
          {"directory", run.directory},
          {"what", run.spectra.what},
          {"matrices", matrices_json(run.spectra)},
          {"layers", layers_json(run.spectra)},
          {"timeScales", memories_json(run.spectra)},
          {"ksvd", ksvd},
          {"changed", {{"title", run.changed.title}, {"columns", run.changed.columns}, {"rows", run.changed.rows}}},
          {"findings", findings_json(run.findings)}};
}

std::string summary_of(const AnalysisPage& page) {
  std::string text;
  for (const AnalysisPage::Run& run : page.runs) {
    text += (text.empty() ? "" : "; ") + run.directory + ": " + run.spectra.what;
    for (const KsvdTable& table : run.ksvd) text += "; " + table.verdict;
  }
  return text;
}

}  // namespace

std::string analysis_page(const AnalysisPage& page) {
  Json data = {{"kind", "analysis"}, {"runs", Json::array()}};
  for (const AnalysisPage::Run& run : page.runs) data["runs"].push_back(analysed_json(run));
  const std::string title =
      page.runs.size() == 1 ? page.runs.front().name : "Spectra of " + std::to_string(page.runs.size()) + " runs";
  return make_page(title + " · primal analyze", summary_of(page), data);
}

}  // namespace primal::report
