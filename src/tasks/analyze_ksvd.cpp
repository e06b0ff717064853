#include "tasks/analyze_ksvd.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/ksvd_check.h"
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

std::string spread_text(const Spread& spread) {
  if (spread.count() == 0) return "-";
  std::string text = base::printed("%.3g", spread.mean());
  if (spread.count() > 1) text += base::printed(" +- %.2g", spread.deviation());
  return text;
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

template <typename Cell>
std::vector<std::string> cells(const std::vector<Column>& columns, const Cell& cell) {
  std::vector<std::string> texts;
  for (const Column& column : columns) texts.push_back(cell(column));
  return texts;
}

size_t pairs_for(const std::vector<double>& explained, double share) {
  const auto found = std::ranges::find_if(explained, [&](double value) { return value >= share; });
  return static_cast<size_t>(std::min<std::ptrdiff_t>(found - explained.begin() + 1, std::ssize(explained)));
}

double explained_by(const analysis::KernelFacts& kernel, int64_t pairs) {
  return kernel.explained[static_cast<size_t>(std::min(pairs, std::ssize(kernel.explained)) - 1)];
}

std::string kernel_rows(const std::vector<Column>& columns, int64_t rank) {
  const auto of_kernel = [&](const auto& text) {
    return cells(columns, [&](const Column& column) {
      return column.kernel == nullptr || column.kernel->explained.empty() ? std::string("-") : text(*column.kernel);
    });
  };
  using analysis::KernelFacts;
  return row("kernel: effective rank", "",
             of_kernel([](const KernelFacts& kernel) { return base::printed("%.2f", kernel.effective_rank); })) +
         row("kernel: energy of best s", "",
             of_kernel([&](const KernelFacts& kernel) { return base::format_percent(explained_by(kernel, rank)); })) +
         row("kernel: pairs for 90 %", "", of_kernel([](const KernelFacts& kernel) {
               return std::to_string(pairs_for(kernel.explained, kMostEnergy));
             }));
}

std::string layer_table(const KsvdAnalysis& analysis, size_t index) {
  const KsvdLayer& layer = analysis.trained[index];
  const std::vector<Column> columns = columns_of(analysis, index);
  std::string text =
      base::printed("\n%s as a kernel SVD: s = %ld, %s, %ld features, heads %ld, samples %ld\n", layer.name.c_str(),
                    layer.rank, layer.rows > 0 ? base::printed("%ld rows", layer.rows).c_str() : "no sampled rows",
                    layer.features, layer.heads, layer.samples);
  text += row("", "KSVD", cells(columns, [](const Column& column) { return std::string(column.title); }));
  for (const MeasureFacts& facts : analysis::measure_facts()) {
    const std::string wanted = std::isnan(facts.of_ksvd) ? "" : base::format_digits(facts.of_ksvd, 1);
    text += row(std::string(facts.label), wanted,
                cells(columns, [&](const Column& column) { return spread_text(column.weights->of(facts.measure)); }));
  }
  text += row("conditions of the mean", "0",
              cells(columns, [](const Column& column) { return spread_text(column.weights->mean_residual); }));
  return text + kernel_rows(columns, layer.rank) + analysis.verdicts[index].text + "\n";
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

std::string to_text(const KsvdAnalysis& analysis) {
  std::string text;
  for (size_t i = 0; i < analysis.trained.size(); ++i) text += layer_table(analysis, i);
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
