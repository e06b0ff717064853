#include "tasks/watch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/findings.h"
#include "analysis/run_facts.h"
#include "analysis/spectrum.h"
#include "base/failure.h"
#include "nn/record.h"
#include "run/analysis_file.h"

namespace primal::tasks {

namespace {

constexpr int64_t kSpectrumExamples = 32;  // of the training part: enough for a mean, quick at any length

bool is_finite(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  return std::all_of(parameters.begin(), parameters.end(),
                     [](const torch::Tensor& p) { return std::isfinite(p.detach().sum().item<double>()); });
}

}  // namespace

void analyse(Task& task, const run::RunDirectory& run) {
  const DataChoice some{.part = Part::train, .examples = kSpectrumExamples};
  const auto records = nn::record(task.model(), [&] { task.forward(some); });
  run.write("analysis.json", run::to_json(analysis::spectrum_of(records)).dump(2) + "\n");
}

Watch::Watch(Task& task, std::string advice, run::RunDirectory& run, std::function<void(const std::string&)> say)
    : task_(task), advice_(std::move(advice)), run_(run), say_(std::move(say)) {}

void Watch::look() {
  if (!is_finite(task_.model())) throw base::Failure("the weights are no longer finite; " + advice_);
  try {
    analyse(task_, run_);
  } catch (const c10::Error&) {  // the decomposition of finite, but huge numbers
    throw base::Failure("the spectrum of the scores cannot be computed; " + advice_);
  }
  for (const analysis::Finding& finding : analysis::findings(analysis::facts_of(run::load_run(run_.path())))) {
    if (finding.severity != analysis::Severity::warning || !said_.insert(finding.title).second) continue;
    say_("note: " + finding.title + ". " + finding.text + " " + finding.advice);
  }
}

}  // namespace primal::tasks
