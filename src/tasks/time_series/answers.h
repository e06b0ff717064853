// The right answers to series, classes or targets, and how far those of a model are from them.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "data/series/time_series.h"
#include "models/sequence_classifier.h"
#include "tasks/time_series/series_facts.h"
#include "train/meters.h"

namespace primal::tasks {

inline const run::Metric& metric_of(const SeriesFacts& facts) {
  return facts.target ? run::r2_metric() : run::accuracy_metric();
}

/// As a model learns them: labels, or targets in standard deviations from their mean. -> [B]
torch::Tensor right_answers(const data::TimeSeriesSet& set, std::span<const int64_t> cases, const SeriesFacts& facts);

/// What a model's outputs say, in the unit of the targets. outputs: [B, 1]
std::vector<double> targets_from(const torch::Tensor& outputs, const data::TargetScaling& scaling);

struct Judged {
  torch::Tensor loss;  ///< task loss, mean over the examples
  double score = 0;    ///< sum over the examples, see train::BatchLoss
};

/// Of classes.
struct LabelOptions {
  double smoothing = 0;
  torch::Tensor weights{};  ///< [classes], what the loss of an example is taken times; undefined: 1
};

/// A batch in training. outputs: [B, classes or 1], right: [B]
Judged judge(const torch::Tensor& outputs, const torch::Tensor& right, const SeriesFacts& facts,
             const LabelOptions& labels);

/// Collects the answers of a model to the cases of a set.
class Examiner {
 public:
  /// Both must outlive it.
  Examiner(const data::TimeSeriesSet& set, const SeriesFacts& facts);
  void add(std::span<const int64_t> cases, const models::Classification& answer);
  run::Evaluation result() const;

 private:
  const data::TimeSeriesSet& set_;
  const SeriesFacts& facts_;
  train::ClassificationMeter classes_;
  train::RegressionMeter targets_;
};

}  // namespace primal::tasks
