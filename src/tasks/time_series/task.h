// Classification of time series, or regression, as the trainer sees it.
#pragma once

#include <functional>

#include "tasks/time_series/answers.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_data.h"
#include "train/problem.h"

namespace primal::tasks {

/// The chosen cases of a set, padded. `tokens`: longest the model takes; longer series are cut. `full`: padded to
/// `tokens` even if all are shorter, as the flatten head needs.
models::SeriesBatch batch_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens, bool full);
/// min(length, tokens) of each. -> [B] int64
torch::Tensor lengths_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens);

/// Cases of a batch such that a forward pass stays within a few hundred megabytes.
int64_t evaluation_batch(int64_t tokens);

class TimeSeriesProblem : public train::Problem {
 public:
  /// The model is initialised from LibTorch's generator. `load_test` is called when TEST is first evaluated
  /// and `data` is without it.
  TimeSeriesProblem(const TimeSeriesConfig& config, TrainingData data,
                    std::function<data::TimeSeriesSet(const SeriesFacts&)> load_test);

  torch::nn::Module& model() override { return *model_; }
  train::Measure measure() const override { return measure_of(data_.facts); }
  int64_t examples() const override { return data_.train.cases(); }
  std::unique_ptr<train::BatchInputs> inputs(std::vector<int64_t> examples) const override;
  train::BatchLoss loss(train::BatchInputs& inputs) override;
  train::Evaluation evaluate(train::Part part) override;

  models::SequenceClassifier& classifier() { return model_; }
  const TrainingData& data() const { return data_; }
  models::SeriesBatch batch(const data::TimeSeriesSet& set, std::span<const int64_t> cases) const;

 private:
  TimeSeriesConfig config_;
  TrainingData data_;
  std::function<data::TimeSeriesSet(const SeriesFacts&)> load_test_;
  models::SequenceClassifier model_{nullptr};
};

/// The model over all cases of a set, in evaluation mode.
train::Evaluation evaluate(models::SequenceClassifierImpl& model, const data::TimeSeriesSet& set,
                           const SeriesFacts& facts);

}  // namespace primal::tasks
