#include "tasks/ablate.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/statistics.h"
#include "run/run.h"
#include "tasks/ablation_variants.h"
#include "tasks/point_runs.h"
#include "tasks/resolve.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAblationFile = "ablation.json";

// What a finished run says of itself.
struct Measured {
  int64_t seed = 0;
  double score = 0, objective = 0, effective_rank = 0, tokens_per_second = 0, memory_mb = 0;
};

// Of the kept weights, as near as the run tells: on TEST, else where they were chosen, else in training.
std::vector<double> objectives_of(const run::Run& run) {
  if (run.result->test && !run.result->test->objective.empty()) return run.result->test->objective;
  for (const run::EvaluationRecord& evaluation : run.metrics.evaluations) {
    if (evaluation.step == run.result->best_step && !evaluation.objective.empty()) return evaluation.objective;
  }
  return run.metrics.training.empty() ? std::vector<double>{} : run.metrics.training.back().objective;
}

double mean_size(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return base::mean(values);
}

double mean_effective_rank(const run::Spectra& spectra) {
  std::vector<double> ranks;
  for (const run::LayerFacts& layer : spectra.layers) {
    ranks.push_back(std::max(layer.effective_rank_e, layer.effective_rank_r));
  }
  return base::mean(ranks);
}

// Not every task has a TEST part, and a run may leave it alone.
bool has_no_test(const PointPlan& plan) {
  for (size_t point = 0; point < plan.request.points.size(); ++point) {
    for (const run::Result& result : results_of(plan, point)) {
      if (result.test) return false;
    }
  }
  return true;
}

double score_of(const run::Result& result) { return result.test ? result.test->score : result.validation_score; }

std::vector<Measured> measured(const PointPlan& plan, size_t point) {
  std::vector<Measured> all;
  for (const PointRun& wanted : plan.runs) {
    if (wanted.point != point || !fs::exists(wanted.folder / "result.json")) continue;
    const run::Run run = run::load_run(wanted.folder);
    all.push_back({.seed = wanted.seed,
                   .score = score_of(*run.result),
                   .objective = mean_size(objectives_of(run)),
                   .effective_rank = mean_effective_rank(run.spectra),
                   .tokens_per_second = run.result->tokens_per_second,
                   .memory_mb = run.result->peak_memory_mb});
  }
  return all;
}

using Compare = double (*)(double value, double base);

double minus(double value, double base) { return value - base; }
double over(double value, double base) { return value / base; }

report::Estimate estimate(const std::vector<Measured>& runs, double Measured::*figure) {
  std::vector<double> values;
  for (const Measured& run : runs) values.push_back(run.*figure);
  return report::estimate_of(values);
}

// With the runs of the same seed: what a seed does to both drops out.
report::Estimate compared(const std::vector<Measured>& runs, const std::vector<Measured>& base,
                          double Measured::*figure, Compare compare) {
  std::vector<double> values;
  for (const Measured& run : runs) {
    const auto same = std::ranges::find(base, run.seed, &Measured::seed);
    if (same != base.end()) values.push_back(compare(run.*figure, *same.*figure));
  }
  return report::estimate_of(values);
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
  const auto both = [&](double Measured::*figure, Compare compare, report::Estimate& value,
                        report::Estimate& comparison) {
    value = estimate(runs, figure);
    if (row.name != kBaseVariant) comparison = compared(runs, base, figure, compare);
  };
  both(&Measured::score, minus, row.score, row.score_difference);
  both(&Measured::objective, minus, row.objective, row.objective_difference);
  both(&Measured::effective_rank, minus, row.effective_rank, row.effective_rank_difference);
  both(&Measured::tokens_per_second, over, row.tokens_per_second, row.speed_ratio);
  both(&Measured::memory_mb, over, row.memory_mb, row.memory_ratio);
}

PointPlan plan_of(const AblateRequest& request, const std::vector<Variant>& variants) {
  PointsRequest wanted{.what = "ablation",
                       .points_are = "variants",
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

AblateSummary ablate(const AblateRequest& request, base::Progress& progress) {
  const ConfigRequest preset{.preset = request.preset, .set = request.set, .data = request.data};
  const std::vector<Variant> variants = ablation_variants(preset, request.only, &progress);
  const PointPlan plan = plan_of(request, variants);
  AblateSummary summary{.folder = plan.request.folder};
  report::AblationResults& results = summary.results;
  results.title = request.preset;
  results.protocol = name_of(plan.options.protocol);
  results.part = plan.selection == train::Part::test ? "best test" : "test";
  results.seeds = request.seeds;
  for (const Variant& variant : variants) results.rows.push_back(row_of(variant));

  const auto describe = [&](const run::Result& result) {
    return results.part + " " + result.metric.name + " " + run::format_score(result.metric, score_of(result));
  };
  const base::FolderLock lock = hold_folder(plan, as_text(results), progress);
  const PointOutcome outcome = run_points(plan, describe, progress);
  summary.interrupted = outcome.interrupted;
  results.metric = common_metric(plan).value_or(run::Metric{.key = "score", .name = "score"});
  if (has_no_test(plan)) results.part = "validation";
  const std::vector<Measured> base = measured(plan, 0);
  size_t point = 0;  // of the variants that are not skipped
  for (report::AblationRow& row : results.rows) {
    if (!row.skipped.empty()) continue;
    fill(row, measured(plan, point), base);
    row.run = plan.request.folder / plan.request.points[point].folder;
    row.failed = outcome.failed[point++];
    summary.failed += row.failed;
  }
  write(summary);
  return summary;
}

}  // namespace primal::tasks
