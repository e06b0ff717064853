#include "analysis/run_facts.h"

#include <cmath>
#include <numeric>

#include "run/classification.h"
#include "run/target_errors.h"

namespace primal::analysis {

namespace {

// Then R2 says nothing.
bool has_equal_targets(const run::Evaluation& test) {
  const auto errors = run::target_errors(test);
  return errors && (errors->pairs.empty() || errors->pairs.front().first == errors->pairs.back().first);
}

}  // namespace

RunFacts facts_of(const run::Run& run) {
  RunFacts facts;
  facts.metric = metric_of(run);
  facts.eta = run.config.number("loss.eta");
  for (const run::TrainRecord& record : run.metrics.training) {
    facts.step.push_back(record.step);
    facts.epoch.push_back(record.epoch);
    facts.task_loss.push_back(record.task_loss);
    facts.score.push_back(record.score);
    facts.ksvd.push_back(facts.eta > 0 ? record.ksvd / facts.eta : record.ksvd);  // the record has eta in it
    facts.objective.push_back(record.objective);
  }
  // The honest protocol looks at TEST once: then only the validation part has a curve.
  const auto validation = run.metrics.split("validation");
  facts.evaluation_split = validation.empty() ? "test" : "validation";
  for (const run::EvaluationRecord& record : run.metrics.split(facts.evaluation_split)) {
    facts.evaluation_step.push_back(record.step);
    facts.evaluation_loss.push_back(record.loss);
    facts.evaluation_score.push_back(record.score);
  }
  const auto& test = run.result ? run.result->test : std::nullopt;
  if (test && std::isfinite(test->score) && !has_equal_targets(*test)) {
    facts.test_score = test->score;
    if (const auto classes = run::class_details(*test)) {
      for (const auto& row : classes->confusion) facts.test_cases.push_back(std::reduce(row.begin(), row.end()));
    }
  }
  facts.failure = run.metrics.failure;
  facts.layers = run.spectra.layers;
  facts.spectra_failure = run.spectra.failure;
  return facts;
}

}  // namespace primal::analysis
