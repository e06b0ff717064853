// What the rules of findings() look at, and how it is found in a run directory. No LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/analysis_file.h"
#include "run/metric.h"
#include "run/run.h"

namespace primal::analysis {

using run::LayerFacts;

/// What is known of a run. Every list of records has the same order; NaN = not finite, or not measured.
struct RunFacts {
  run::Metric metric = run::accuracy_metric();  ///< of the scores
  double eta = 0;                               ///< weight of the KSVD term
  std::vector<std::int64_t> step;               ///< [records], rising
  std::vector<double> epoch;                    ///< [records], passes over the training part
  std::vector<double> task_loss;                ///< [records], training
  std::vector<double> score;                    ///< [records], training
  std::vector<double> ksvd;                     ///< [records], mean of J^2
  std::vector<std::vector<double>> objective;   ///< [records][primal layers], mean J

  std::string evaluation_split;               ///< "validation" or "test"; the checkpoint was chosen on it
  std::vector<std::int64_t> evaluation_step;  ///< [evaluations], rising
  std::vector<double> evaluation_loss;        ///< [evaluations]
  std::vector<double> evaluation_score;       ///< [evaluations]

  std::string failure;                   ///< why the run gave up; empty if it did not
  std::optional<double> test_score;      ///< of the finished run
  std::vector<std::int64_t> test_cases;  ///< [classes]; empty if not known
  std::vector<LayerFacts> layers;
  std::string spectra_failure;  ///< why there are none, if they could not be computed
};

RunFacts facts_of(const run::Run& run);

}  // namespace primal::analysis
