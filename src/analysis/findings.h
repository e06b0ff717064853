// Known failure signatures of Primal-Attention, looked for in the figures of a run and said in plain words. No
// LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/analysis_file.h"
#include "run/metric.h"

namespace primal::analysis {

enum class Severity { note, warning };

struct Finding {
  Severity severity = Severity::note;
  std::string title;   ///< "Layer 2: the rank is too small"
  std::string text;    ///< what was seen, with the numbers
  std::string advice;  ///< what to try
};

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
};

/// Worst first. An empty list means that no known signature was found, not that all is well.
std::vector<Finding> findings(const RunFacts& facts);

}  // namespace primal::analysis
