#include "tasks/analyze.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/findings.h"
#include "analysis/matrix_spectrum.h"
#include "analysis/spectrum.h"
#include "analysis/time_scales.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/names.h"
#include "base/text.h"
#include "primal/error.h"
#include "report/analysis_page.h"
#include "report/comparison.h"
#include "run/run.h"
#include "tasks/matrix_tables.h"
#include "tasks/trained.h"
#include "tasks/watch.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Part, 3> kPartNames{
    {{"train", Part::train}, {"validation", Part::validation}, {"test", Part::test}}};

DataChoice choice_of(const AnalyzeRequest& request) {
  DataChoice choice = examples_for_spectra(base::named(kPartNames, "--part", request.part));
  if (request.examples > 0) choice.examples = request.examples, choice.tokens = 0;
  if (!request.file.empty()) choice.file = request.file;
  return choice;
}

analysis::MatrixLimits limits_of(const AnalyzeRequest& request) {
  analysis::MatrixLimits limits{.longest = request.longest};
  if (request.matrices) limits.samples = *request.matrices, limits.tokens = 0;
  return limits;
}

void add_matrices(Task& task, const DataChoice& choice, const AnalyzeRequest& request, run::Spectra& spectra) {
  const analysis::MatrixLimits limits = limits_of(request);
  if (limits.samples == 0) return;
  spectra.matrices = analysis::matrix_spectra(
      task.model(), [&] { task.forward(choice); }, limits);
  if (!spectra.matrices.empty()) spectra.matrices_of = analysis::describe(limits);
}

Analysis analyze_one(const std::filesystem::path& folder, const AnalyzeRequest& request) {
  const Trained trained = open_trained(folder, request.data, request.threads);
  Task& task = *trained.task;
  const DataChoice choice = choice_of(request);
  Analysis result{.run = folder, .spectra = {}, .findings = {}};
  result.spectra.layers = analysis::spectrum_of(task.model(), [&] { task.forward(choice); });
  result.spectra.time_scales = analysis::time_scales_of(task.model());
  add_matrices(task, choice, request, result.spectra);
  result.spectra.what = trained.resolved.config->model_name() + " on " + task.describe(choice);
  run::Run run = run::load_run(folder);
  run.spectra = result.spectra;
  const analysis::RunFacts facts = analysis::facts_of(run);
  result.findings = analysis::findings(facts);
  if (request.ksvd) {
    result.ksvd = analyze_ksvd(task, choice, {folder, request.data, request.threads}, *request.ksvd);
  }
  return result;
}

// Singular values fall over many orders of magnitude: where they have fallen to a share of the first says more than
// their list.
int64_t above(const std::vector<double>& values, double share) {
  return std::ranges::count_if(values, [&](double value) { return value >= share * values.front(); });
}

std::string layer_table(const std::vector<run::LayerFacts>& layers) {
  std::string text = base::printed("%-10s %5s %6s %6s  %17s  %29s  %s\n", "layer", "s", "rows", "N", "effective rank",
                                   "Lambda", "singular values >= 1 % of the largest");
  text += base::printed("%-10s %5s %6s %6s  %8s %8s  %9s %9s %9s  %s\n", "", "", "", "", "e", "r", "low", "median",
                        "high", "e, r");
  for (const run::LayerFacts& layer : layers) {
    std::vector<double> lambda;
    for (const auto& head : layer.lambda) lambda.insert(lambda.end(), head.begin(), head.end());
    std::ranges::sort(lambda);
    const auto at = [&](size_t i) { return lambda.empty() ? std::nan("") : lambda[std::min(i, lambda.size() - 1)]; };
    const auto large = [&](const std::vector<double>& values) { return values.empty() ? 0 : above(values, 0.01); };
    text += base::printed("%-10s %5ld %6ld %6ld  %8.2f %8.2f  %9.3g %9.3g %9.3g  %ld, %ld\n", layer.name.c_str(),
                          layer.rank, layer.rows, layer.tokens, layer.effective_rank_e, layer.effective_rank_r, at(0),
                          at(lambda.size() / 2), at(lambda.size()), large(layer.singular_values_e),
                          large(layer.singular_values_r));
  }
  return text;
}

// The first ones, side by side.
std::string spectrum_table(const run::LayerFacts& layer) {
  constexpr size_t kShown = 10;
  std::string text = "\n" + layer.name + ": singular values of the scores, mean over heads and examples\n";
  for (const auto& [name, values] : {std::pair{"e", &layer.singular_values_e}, {"r", &layer.singular_values_r}}) {
    text += base::printed("  %s ", name);
    for (size_t i = 0; i < std::min(values->size(), kShown); ++i) text += base::printed(" %8.3g", (*values)[i]);
    text += values->size() > kShown ? base::printed("  ... %.3g\n", values->back()) : "\n";
  }
  return text;
}

std::string time_scale_table(const std::vector<run::TimeScales>& memories) {
  if (memories.empty()) return "";
  std::string text =
      "\n" + base::printed("%-10s %-10s %10s %10s %10s\n", "layer", "memory", "shortest", "median", "longest");
  for (const run::TimeScales& memory : memories) {
    const std::vector<double>& tokens = memory.tokens;
    if (tokens.empty()) continue;
    text += base::printed("%-10s %-10s %10.3g %10.3g %10.3g tokens\n", memory.layer.c_str(), memory.memory.c_str(),
                          tokens.front(), tokens[tokens.size() / 2], tokens.back());
  }
  return text;
}

}  // namespace

std::vector<Analysis> analyze(const AnalyzeRequest& request) {
  choice_of(request);  // a wrong part is known before any run is opened
  std::vector<Analysis> result;
  for (const auto& folder : request.runs) {
    for (const auto& run : run::runs_in(folder)) {
      try {
        result.push_back(analyze_one(run, request));
      } catch (const Error& error) {  // of several runs: which one
        const std::string message = error.what();
        const bool says_where = !request.file.empty() || message.find(run.string()) != std::string::npos;
        throw says_where ? error : Error(run.string() + ": " + message);
      }
    }
  }
  return result;
}

std::string to_text(const Analysis& analysis) {
  std::string text = analysis.run.string() + ": " + analysis.spectra.what + "\n";
  if (analysis.spectra.layers.empty()) {
    text += "no layer has Primal-Attention: there are no scores to show\n";
  } else {
    text += layer_table(analysis.spectra.layers);
    for (const run::LayerFacts& layer : analysis.spectra.layers) text += spectrum_table(layer);
  }
  text += matrix_table(analysis.spectra);
  text += time_scale_table(analysis.spectra.time_scales);
  if (analysis.ksvd) text += to_text(*analysis.ksvd);
  text += analysis.findings.empty() ? "\nno known sign of failure\n" : "\n";
  for (const analysis::Finding& finding : analysis.findings) {
    text += std::string(finding.severity == analysis::Severity::warning ? "warning: " : "note: ") + finding.title +
            ". " + finding.text + " " + finding.advice + "\n";
  }
  return text;
}

nlohmann::json to_json(const Analysis& analysis) {
  nlohmann::json json = run::to_json(analysis.spectra);
  json["run"] = analysis.run.string();
  json["findings"] = nlohmann::json::array();
  for (const analysis::Finding& finding : analysis.findings) {
    json["findings"].push_back({{"severity", finding.severity == analysis::Severity::warning ? "warning" : "note"},
                                {"title", finding.title},
                                {"text", finding.text},
                                {"advice", finding.advice}});
  }
  if (!analysis.spectra.matrices.empty()) json["rank_advice"] = rank_advice_json(analysis.spectra);
  if (analysis.ksvd) json["ksvd"] = to_json(*analysis.ksvd);
  return json;
}

void write_page(const std::vector<Analysis>& analyses, const std::filesystem::path& output) {
  std::vector<run::Run> runs;
  for (const Analysis& analysis : analyses) runs.emplace_back().directory = analysis.run;
  const std::vector<std::string> names = report::short_names(runs);
  report::AnalysisPage page;
  for (size_t i = 0; i < analyses.size(); ++i) {
    const Analysis& analysis = analyses[i];
    page.runs.push_back({.name = names[i],
                         .directory = analysis.run.string(),
                         .spectra = analysis.spectra,
                         .findings = analysis.findings,
                         .ksvd = analysis.ksvd ? ksvd_tables(*analysis.ksvd) : std::vector<report::KsvdTable>{},
                         .changed = analysis.ksvd && analysis.ksvd->changed ? changed_table(*analysis.ksvd->changed)
                                                                            : report::ChangedTable{}});
  }
  base::write_file_atomically(output, report::analysis_page(page));
}

}  // namespace primal::tasks
