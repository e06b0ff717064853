#include "tasks/ablate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/statistics.h"
#include "primal/error.h"
#include "run/run.h"
#include "tasks/ablation_variants.h"
#include "tasks/point_runs.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAblationFile = "ablation.json";

// What a finished run says of itself.
struct Measured {
  int64_t seed = 0;
  double score = 0, objective = 0, effective_rank = 0, tokens_per_second = 0, memory_mb = 0;
};

double last_objective(const run::Metrics& metrics) {
  std::vector<double> sizes;
  if (!metrics.evaluations.empty()) {
    for (const double objective : metrics.evaluations.back().objective) sizes.push_back(std::abs(objective));
  }
  return base::mean(sizes);
}

double mean_effective_rank(const run::Spectra& spectra) {
  std::vector<double> ranks;
  for (const run::LayerFacts& layer : spectra.layers) {
    ranks.push_back(std::max(layer.effective_rank_e, layer.effective_rank_r));
  }
  return base::mean(ranks);
}

double score_of(const run::Result& result) { return result.test ? result.test->score : result.validation_score; }

std::vector<Measured> measured(const PointPlan& plan, size_t point) {
  std::vector<Measured> all;
  for (const PointRun& wanted : plan.runs) {
    if (wanted.point != point || !fs::exists(wanted.folder / "result.json")) continue;
    const run::Run run = run::load_run(wanted.folder);
    all.push_back({.seed = wanted.seed,
                   .score = score_of(*run.result),
                   .objective = last_objective(run.metrics),
                   .effective_rank = mean_effective_rank(run.spectra),
                   .tokens_per_second = run.result->tokens_per_second,
                   .memory_mb = run.result->peak_memory_mb});
  }
  return all;
}

report::Estimate estimate(const std::vector<Measured>& runs, double Measured::*figure) {
  std::vector<double> values;
  for (const Measured& run : runs) values.push_back(run.*figure);
  return report::estimate_of(values);
}

// Of the runs with the same seed: what a seed does to both drops out.
report::Estimate difference(const std::vector<Measured>& runs, const std::vector<Measured>& base) {
  std::map<int64_t, double> scores;
  for (const Measured& run : base) scores[run.seed] = run.score;
  std::vector<double> differences;
  for (const Measured& run : runs) {
    if (scores.contains(run.seed)) differences.push_back(run.score - scores[run.seed]);
  }
  return report::estimate_of(differences);
}

report::AblationRow row_of(const Variant& variant) {
  return {.name = variant.name,
          .group = variant.group,
          .change = variant.change,
          .set = variant.set,
          .skipped = variant.skipped,
          .parameters = variant.parameters};
}

void fill(report::AblationRow& row, const std::vector<Measured>& runs, const std::vector<Measured>& base) {
  row.seeds = std::ssize(runs);
  row.score = estimate(runs, &Measured::score);
  row.difference = difference(runs, base);
  row.objective = estimate(runs, &Measured::objective);
  row.effective_rank = estimate(runs, &Measured::effective_rank);
  row.tokens_per_second = estimate(runs, &Measured::tokens_per_second);
  row.memory_mb = estimate(runs, &Measured::memory_mb);
}

PointPlan plan_of(const AblateRequest& request, const std::vector<Variant>& variants) {
  PointsRequest wanted{.what = "ablation",
                       .file = kAblationFile,
                       .preset = request.preset,
                       .set = request.set,
                       .data = request.data,
                       .jobs = request.jobs,
                       .seeds = request.seeds};
  for (const Variant& variant : variants) {
    if (variant.skipped.empty()) wanted.points.push_back({variant.name, variant.set});
  }
  wanted.folder = request.folder.empty() ? fs::path("ablations") / fs::path(request.preset).stem() : request.folder;
  return plan_points(wanted);
}

std::string as_text(const report::AblationResults& results) { return report::to_json(results).dump(2) + "\n"; }

void write(const AblateSummary& summary) {
  base::write_file_atomically(summary.folder / kAblationFile, as_text(summary.results));
  base::write_file_atomically(summary.folder / "ablation.html", report::ablation_page(summary.results));
}

}  // namespace

AblateSummary ablate(const AblateRequest& request, const std::function<void(const std::string&)>& say) {
  const ConfigRequest preset{.preset = request.preset, .set = request.set, .data = request.data};
  const std::vector<Variant> variants = ablation_variants(preset, request.only);
  const PointPlan plan = plan_of(request, variants);
  AblateSummary summary{.folder = plan.request.folder};
  report::AblationResults& results = summary.results;
  results.title = request.preset;
  results.protocol = name_of(plan.options.protocol);
  results.part = plan.options.test ? "test" : "validation";
  results.seeds = request.seeds;
  for (const Variant& variant : variants) results.rows.push_back(row_of(variant));

  const auto describe = [&](const run::Result& result) {
    return results.part + " " + result.metric.name + " " + run::format_score(result.metric, score_of(result));
  };
  const base::FolderLock lock = hold_folder(plan, as_text(results));
  const PointOutcome outcome = run_points(plan, describe, say);
  summary.interrupted = outcome.interrupted;
  results.metric = common_metric(plan).value_or(run::Metric{.key = "score", .name = "score"});
  const std::vector<Measured> base = measured(plan, 0);
  size_t point = 0;  // of the variants that are not skipped
  for (report::AblationRow& row : results.rows) {
    if (!row.skipped.empty()) continue;
    fill(row, measured(plan, point), base);
    row.run = plan.request.folder / plan.request.points[point].folder;
    row.failed = outcome.failed[point++];
    summary.failed += row.failed;
  }
  results.rows.front().difference = {};
  write(summary);
  return summary;
}

}  // namespace primal::tasks
