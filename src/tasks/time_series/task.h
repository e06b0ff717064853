// Classification of time series, or regression.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "tasks/family.h"
#include "tasks/time_series/answers.h"
#include "tasks/time_series/config.h"
#include "tasks/time_series/series_data.h"

namespace primal::tasks {

class TimeSeriesTask : public Task {
 public:
  TimeSeriesTask(const TimeSeriesConfig& config, const Opening& opening);

  torch::nn::Module& model() override { return *model_; }
  const train::Metric& metric() const override { return metric_of(facts_); }
  int64_t examples() const override { return data_->train.cases(); }
  std::unique_ptr<train::Batch> batch(std::vector<int64_t> examples, base::Random random) const override;
  train::BatchLoss loss(train::Batch& batch) override;
  Evaluation evaluate(Part part) override;

  nlohmann::json facts() const override;
  bool has(Part part) const override;
  std::string description() const override;
  std::vector<std::string> notes() const override;
  std::unique_ptr<Task> whole() override;
  std::vector<std::string> notes(const DataChoice& choice) override;
  std::string describe(const DataChoice& choice) override;
  void forward(const DataChoice& choice) override;
  Evaluation evaluate_file(const std::filesystem::path& file) override;
  std::vector<std::string> predict(const PredictRequest& request, const LineWriter& write) override;

 private:
  TimeSeriesTask(const TimeSeriesConfig& config, const Opening& opening, std::optional<SeriesData> source);

  SeriesData& source();
  const data::TimeSeriesSet& part(Part part);
  const data::TimeSeriesSet& chosen(const DataChoice& choice, bool with_answers);
  // Those of the choice.
  std::vector<int64_t> cases_of(const data::TimeSeriesSet& set, const DataChoice& choice) const;
  bool is_padded_full() const { return config_.model.pooling == models::Pooling::flatten; }
  // What a case costs the model.
  int64_t tokens_of(const data::TimeSeriesSet& set, int64_t i) const {
    return is_padded_full() ? facts_.tokens : std::min(set.length(i), facts_.tokens);
  }
  // As many at a time as fit into bounded memory.
  using AnswerTaker = std::function<void(std::span<const int64_t>, const models::Classification&)>;
  void in_batches(const data::TimeSeriesSet& set, std::span<const int64_t> cases, const AnswerTaker& take);
  models::SeriesBatch batch_from(const data::TimeSeriesSet& set, std::span<const int64_t> cases) const;
  Evaluation evaluate(const data::TimeSeriesSet& set);

  TimeSeriesConfig config_;
  Opening opening_;
  std::optional<SeriesData> source_;                  // of a trained run: when it is asked for
  std::optional<TrainingData> data_;                  // likewise
  std::map<std::string, data::TimeSeriesSet> files_;  // read once each
  SeriesFacts facts_;
  torch::Tensor class_weights_;  // undefined: none
  models::SequenceClassifier model_{nullptr};
};

}  // namespace primal::tasks
