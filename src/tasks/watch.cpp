#include "tasks/watch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/findings.h"
#include "analysis/matrix_spectrum.h"
#include "analysis/run_facts.h"
#include "analysis/spectrum.h"
#include "analysis/time_scales.h"
#include "base/exception.h"
#include "base/failure.h"
#include "run/analysis_file.h"

namespace primal::tasks {

namespace {

bool is_finite(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  return std::all_of(parameters.begin(), parameters.end(),
                     [](const torch::Tensor& p) { return std::isfinite(p.detach().sum().item<double>()); });
}

// At the end of a run: seconds, and some MB.
constexpr analysis::MatrixLimits kFewMatrices{
    .samples = 4, .tokens = 1024, .longest = 512, .longest_kernel = int64_t{1} << 14};

void add_matrices(Task& task, const DataChoice& choice, run::Spectra& spectra, const Say& say) {
  try {
    spectra.matrices = analysis::matrix_spectra(
        task.model(), [&] { task.forward(choice); }, kFewMatrices);
    if (!spectra.matrices.empty()) spectra.matrices_of = analysis::describe(kFewMatrices);
  } catch (const std::exception& error) {
    say("note: the attention matrices could not be looked at: " + base::in_one_line(error));
  }
}

}  // namespace

DataChoice examples_for_spectra(Part part) {
  constexpr int64_t kExamples = 32, kTokens = 1 << 16;  // enough for a mean, quick at any length
  return {.part = part, .examples = kExamples, .tokens = kTokens};
}

void analyse(Task& task, const run::RunDirectory& run, const Say& say, Matrices matrices) {
  const DataChoice some = examples_for_spectra(Part::train);
  run::Spectra spectra;
  try {
    spectra.layers = analysis::spectrum_of(task.model(), [&] { task.forward(some); });
    spectra.what = task.describe(some);
  } catch (const std::exception& error) {  // not enough memory; finite, but huge numbers
    spectra = {.failure = base::in_one_line(error)};
    say("note: the spectra could not be computed: " + spectra.failure);
  }
  spectra.time_scales = analysis::time_scales_of(task.model());
  if (matrices == Matrices::yes && spectra.failure.empty()) add_matrices(task, some, spectra, say);
  run.write("analysis.json",
            run::to_json(spectra).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Watch::Watch(Task& task, std::string advice, run::RunDirectory& run, Say say)
    : task_(task), advice_(std::move(advice)), run_(run), say_(std::move(say)) {}

void Watch::look() {
  if (!is_finite(task_.model())) throw base::Failure("the weights are no longer finite; " + advice_);
  analyse(task_, run_, [&](const std::string& note) { say_once("spectra", note); });
  for (const analysis::Finding& finding : analysis::findings(analysis::facts_of(run::load_run(run_.path())))) {
    if (finding.severity != analysis::Severity::warning) continue;
    say_once(finding.title, "note: " + finding.title + ". " + finding.text + " " + finding.advice);
  }
}

void Watch::say_once(const std::string& what, const std::string& text) {
  if (said_.insert(what).second) say_(text);
}

}  // namespace primal::tasks
