// Known failure signatures of Primal-Attention, looked for in the figures of a run and said in plain words. No
// LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace primal::analysis {

enum class Severity { note, warning };

struct Finding {
  Severity severity = Severity::note;
  std::string title;   ///< "Layer 2: the rank is too small"
  std::string text;    ///< what was seen, with the numbers
  std::string advice;  ///< what to try
};

/// The spectrum of one primal layer, averaged over a set of samples.
struct LayerFacts {
  std::string name{};
  std::int64_t rank = 0;                      ///< s
  std::int64_t rows = 0;                      ///< sampled rows n; 0 = data-independent weights, nothing is sampled
  std::int64_t tokens = 0;                    ///< N
  std::int64_t heads = 0;                     ///< H
  std::vector<std::vector<double>> lambda{};  ///< [H][s], the positive Lambda of J
  std::vector<double> singular_values_e{};    ///< [s], falling
  std::vector<double> singular_values_r{};    ///< [s], falling
  double effective_rank_e = 0;
  double effective_rank_r = 0;
};

/// What the scores of a run are.
enum class Task {
  classes,  ///< accuracies
  targets,  ///< R2
};

/// What is known of a run. Every list of epochs has the same order; NaN = not finite, or not measured.
struct RunFacts {
  Task task = Task::classes;
  double eta = 0;                              ///< weight of the KSVD term
  std::vector<double> task_loss;               ///< [epochs], training
  std::vector<double> score;                   ///< [epochs], training
  std::vector<double> ksvd;                    ///< [epochs], mean of J^2
  std::vector<std::vector<double>> objective;  ///< [epochs][primal layers], mean J

  std::string evaluation_split;                ///< "validation" or "test"; the checkpoint was chosen on it
  std::vector<std::int64_t> evaluation_epoch;  ///< [evaluations], from 1, rising
  std::vector<double> evaluation_loss;         ///< [evaluations]
  std::vector<double> evaluation_score;        ///< [evaluations]

  std::string failure;                   ///< why the run gave up; empty if it did not
  std::optional<double> test_score;      ///< of the finished run
  std::vector<std::int64_t> test_cases;  ///< [classes]; empty if not known
  std::vector<LayerFacts> layers;
};

/// Worst first. An empty list means that no known signature was found, not that all is well.
std::vector<Finding> findings(const RunFacts& facts);

}  // namespace primal::analysis
