#include "tasks/analyze_ksvd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/ksvd_check.h"
#include "analysis/matrix_curves.h"
#include "base/format.h"
#include "primal/error.h"
#include "run/run.h"
#include "tasks/seeds.h"
#include "tasks/trained.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

using analysis::KsvdLayer;
using analysis::MeasuredWeights;
using analysis::MeasureFacts;
using analysis::Spread;

constexpr double kMostEnergy = 0.9;  // pairs that hold so much are counted

std::vector<KsvdLayer> layers_of(Task& task, const DataChoice& choice, int64_t draws) {
  return analysis::ksvd_check(task.model(), [&] { task.forward(choice); }, {.draws = draws});
}

// The twin of one seed has the same seed.
fs::path twin_of(const fs::path& run, const fs::path& twin) { return holds_seeds(twin) ? twin / run.filename() : twin; }

void check_twin(const std::vector<KsvdLayer>& layers, const std::vector<KsvdLayer>& others, const fs::path& twin) {
  const auto same = [](const KsvdLayer& a, const KsvdLayer& b) {
    return a.name == b.name && a.rank == b.rank && a.rows == b.rows && a.features == b.features && a.heads == b.heads;
  };
  if (std::ranges::equal(layers, others, same)) return;
  throw Error("--twin " + twin.string() + ": its primal layers are not of the sizes of those of the run");
}

std::vector<KsvdLayer> twin_layers(const fs::path& twin, const DataChoice& choice, const KsvdSource& source) {
  const Trained opened = open_trained(twin, source.data, source.threads);
  const double eta = run::load_run(twin).config.number("loss.eta");
  if (eta != 0) {
    throw Error("--twin " + twin.string() + ": expected a run with loss.eta = 0, got " + base::format_digits(eta, 4));
  }
  return layers_of(*opened.task, choice, 1);
}

using report::KsvdTable;

// Measures that never leave 0 to 1.
constexpr std::array kShares{analysis::Measure::direction,  analysis::Measure::ineffective,
                             analysis::Measure::overlap_e,  analysis::Measure::overlap_r,
                             analysis::Measure::subspace_e, analysis::Measure::subspace_r,
                             analysis::Measure::energy};

KsvdTable::Cell spread_cell(const Spread& spread) {
  KsvdTable::Cell cell{.text = "-", .mean = spread.mean(), .deviation = spread.deviation()};
  if (spread.count() == 0) return cell;
  cell.text = base::printed("%.3g", spread.mean());
  if (spread.count() > 1) cell.text += base::printed(" +- %.2g", spread.deviation());
  return cell;
}

// One of the columns of a table: weights that were measured, and the kernel of the model that has them.
struct Column {
  const char* key;
  const char* title;
  const MeasuredWeights* weights;
  const analysis::KernelFacts* kernel;  // null where it is that of another column
};

std::vector<Column> columns_of(const KsvdAnalysis& analysis, size_t layer) {
  const auto model = [&](const char* key, const char* title, const std::vector<KsvdLayer>& layers) {
    return Column{key, title, &layers[layer].own, &layers[layer].kernel};
  };
  std::vector<Column> columns = {model("trained", "trained", analysis.trained),
                                 model("untrained", "untrained", analysis.untrained),
                                 {"random", "random", &analysis.trained[layer].random, nullptr}};
  if (!analysis.twin.empty()) columns.push_back(model("twin", "eta = 0", analysis.twin));
  return columns;
}

// What an exact kernel SVD has stands first.
std::string row(const std::string& label, const std::string& wanted, const std::vector<std::string>& cells) {
  constexpr int kLabel = 26, kWanted = 5, kCell = 20;
  std::string text = base::padded(label, kLabel) + base::padded(wanted, kWanted);
  for (const std::string& cell : cells) text += base::padded(cell, kCell);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

template <typename Make>
std::vector<KsvdTable::Cell> cells(const std::vector<Column>& columns, const Make& make) {
  std::vector<KsvdTable::Cell> made;
  for (const Column& column : columns) made.push_back(make(column));
  return made;
}

double explained_by(const analysis::KernelFacts& kernel, int64_t pairs) {
  return kernel.explained[static_cast<size_t>(std::min(pairs, std::ssize(kernel.explained)) - 1)];
}

void add_kernel_rows(const std::vector<Column>& columns, int64_t rank, KsvdTable& table) {
  const auto add = [&](const char* label, const auto& value, const auto& text) {
    table.rows.push_back({label, "", false, cells(columns, [&](const Column& column) -> KsvdTable::Cell {
                            if (column.kernel == nullptr || column.kernel->explained.empty()) return {.text = "-"};
                            const double number = value(*column.kernel);
                            return {.text = text(number), .mean = number};
                          })});
  };
  using analysis::KernelFacts;
  add(
      "kernel: effective rank", [](const KernelFacts& kernel) { return kernel.effective_rank; },
      [](double number) { return base::printed("%.2f", number); });
  add(
      "kernel: energy of best s", [&](const KernelFacts& kernel) { return explained_by(kernel, rank); },
      [](double number) { return base::format_percent(number); });
  add(
      "kernel: pairs for 90 %",
      [](const KernelFacts& kernel) { return static_cast<double>(analysis::rank_for(kernel.explained, kMostEnergy)); },
      [](double number) { return base::format_digits(number, 6); });
}

KsvdTable table_of(const KsvdAnalysis& analysis, size_t index) {
  const KsvdLayer& layer = analysis.trained[index];
  const std::vector<Column> columns = columns_of(analysis, index);
  KsvdTable table{
      .layer = layer.name,
      .about = base::printed("s = %ld, %s, %ld features, heads %ld, samples %ld", layer.rank,
                             layer.rows > 0 ? base::printed("%ld rows", layer.rows).c_str() : "no sampled rows",
                             layer.features, layer.heads, layer.samples),
      .verdict = analysis.verdicts[index].text,
      .grade = std::string(analysis::grade_name(analysis.verdicts[index].grade))};
  for (const Column& column : columns) {
    table.columns.emplace_back(column.title);
    table.explained.push_back(column.kernel == nullptr ? std::vector<double>{} : column.kernel->explained);
  }
  for (const MeasureFacts& facts : analysis::measure_facts()) {
    const std::string wanted = std::isnan(facts.of_ksvd) ? "" : base::format_digits(facts.of_ksvd, 1);
    table.rows.push_back(
        {std::string(facts.label), wanted, std::ranges::find(kShares, facts.measure) != kShares.end(),
         cells(columns, [&](const Column& column) { return spread_cell(column.weights->of(facts.measure)); })});
  }
  table.rows.push_back({"conditions of the mean", "0", false, cells(columns, [](const Column& column) {
                          return spread_cell(column.weights->mean_residual);
                        })});
  add_kernel_rows(columns, layer.rank, table);
  return table;
}

std::string to_text(const KsvdTable& table) {
  std::string text = "\n" + table.layer + " as a kernel SVD: " + table.about + "\n" + row("", "KSVD", table.columns);
  for (const KsvdTable::Row& one : table.rows) {
    std::vector<std::string> texts;
    for (const KsvdTable::Cell& cell : one.cells) texts.push_back(cell.text);
    text += row(one.label, one.wanted, texts);
  }
  return text + table.verdict + "\n";
}

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json spread_json(const Spread& spread) {
  return {{"mean", number(spread.mean())}, {"deviation", number(spread.deviation())}, {"count", spread.count()}};
}

nlohmann::json weights_json(const MeasuredWeights& weights) {
  nlohmann::json json = {{"mean_residual", spread_json(weights.mean_residual)}, {"heads", nlohmann::json::array()}};
  for (const auto& spreads : weights.heads) {
    nlohmann::json& head = json["heads"].emplace_back(nlohmann::json::object());
    for (const MeasureFacts& facts : analysis::measure_facts()) {
      head[facts.key] = number(spreads[analysis::index_of(facts.measure)].mean());
    }
  }
  for (const MeasureFacts& facts : analysis::measure_facts()) json[facts.key] = spread_json(weights.of(facts.measure));
  return json;
}

nlohmann::json layer_json(const KsvdAnalysis& analysis, size_t index) {
  const KsvdLayer& layer = analysis.trained[index];
  nlohmann::json json = {{"name", layer.name},
                         {"rank", layer.rank},
                         {"rows", layer.rows},
                         {"features", layer.features},
                         {"samples", layer.samples},
                         {"grade", analysis::grade_name(analysis.verdicts[index].grade)},
                         {"verdict", analysis.verdicts[index].text}};
  for (const Column& column : columns_of(analysis, index)) {
    json[column.key] = weights_json(*column.weights);
    if (column.kernel == nullptr) continue;
    json[column.key]["kernel"] = {{"effective_rank", number(column.kernel->effective_rank)},
                                  {"explained", column.kernel->explained}};
  }
  return json;
}

}  // namespace

KsvdAnalysis analyze_ksvd(Task& trained, const DataChoice& choice, const KsvdSource& source,
                          const KsvdAnalysisRequest& request) {
  KsvdAnalysis result;
  result.trained = layers_of(trained, choice, request.draws);
  if (request.intervene) result.changed = change_scores(trained, choice);
  if (!request.twin.empty()) {
    result.twin_run = twin_of(source.run, request.twin);
    result.twin = twin_layers(result.twin_run, choice, source);
    check_twin(result.trained, result.twin, result.twin_run);
  }
  const Trained fresh = open_untrained(source.run, source.data, source.threads);
  result.untrained = layers_of(*fresh.task, choice, 1);
  for (size_t i = 0; i < result.trained.size(); ++i) {
    result.verdicts.push_back(analysis::ksvd_verdict(result.trained[i], &result.untrained[i]));
  }
  return result;
}

std::vector<KsvdTable> ksvd_tables(const KsvdAnalysis& analysis) {
  std::vector<KsvdTable> tables;
  for (size_t i = 0; i < analysis.trained.size(); ++i) tables.push_back(table_of(analysis, i));
  return tables;
}

std::string to_text(const KsvdAnalysis& analysis) {
  std::string text;
  for (const KsvdTable& table : ksvd_tables(analysis)) text += to_text(table);
  if (analysis.changed) text += to_text(*analysis.changed);
  return text;
}

nlohmann::json to_json(const KsvdAnalysis& analysis) {
  nlohmann::json json = {{"layers", nlohmann::json::array()}};
  for (size_t i = 0; i < analysis.trained.size(); ++i) json["layers"].push_back(layer_json(analysis, i));
  if (analysis.changed) json["changed"] = to_json(*analysis.changed);
  if (!analysis.twin_run.empty()) json["twin"] = analysis.twin_run.string();
  return json;
}

}  // namespace primal::tasks
