#include "tasks/time_series/problem.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "primal/error.h"
#include "primal/ksvd.h"
#include "tasks/time_series/augment.h"

namespace primal::tasks {

namespace {

constexpr int64_t kEvaluationTokens = 16384;  // of a batch; 2048-wide feed-forward: 128 MB
constexpr int64_t kEvaluationCases = 128;

void copy_times(const data::TimeSeriesSet& set, int64_t i, std::span<float> into) {
  for (size_t step = 0; step < into.size(); ++step) into[step] = static_cast<float>(set.times[set.offsets[i] + step]);
}

struct SeriesInputs : train::BatchInputs {
  using BatchInputs::BatchInputs;

  models::SeriesBatch batch;
  torch::Tensor lengths, right;  // [B]
};

}  // namespace

int64_t evaluation_batch(int64_t tokens) {
  return std::clamp<int64_t>(kEvaluationTokens / std::max<int64_t>(tokens, 1), 1, kEvaluationCases);
}

torch::Tensor lengths_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens) {
  torch::Tensor lengths = torch::empty({std::ssize(cases)}, torch::kInt64);
  std::transform(cases.begin(), cases.end(), lengths.data_ptr<int64_t>(),
                 [&](int64_t i) { return std::min(set.length(i), tokens); });
  return lengths;
}

models::SeriesBatch batch_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens,
                             bool full) {
  const torch::Tensor lengths = lengths_of(set, cases, tokens);
  const int64_t padded = full ? tokens : lengths.max().item<int64_t>();
  models::SeriesBatch batch{.x = torch::zeros({std::ssize(cases), padded, set.channels}),
                            .padding = padding_mask(lengths, padded)};
  if (!set.times.empty()) batch.times = torch::zeros({std::ssize(cases), padded});
  for (int64_t row = 0; row < std::ssize(cases); ++row) {
    const auto length = static_cast<size_t>(lengths.data_ptr<int64_t>()[row]);
    std::memcpy(batch.x.data_ptr<float>() + row * padded * set.channels, set.series(cases[row]).data(),
                length * static_cast<size_t>(set.channels) * sizeof(float));
    if (batch.times) copy_times(set, cases[row], {batch.times->data_ptr<float>() + row * padded, length});
  }
  return batch;
}

TimeSeriesProblem::TimeSeriesProblem(const TimeSeriesConfig& config, TrainingData data,
                                     std::function<data::TimeSeriesSet(const SeriesFacts&)> load_test)
    : config_(config), data_(std::move(data)), load_test_(std::move(load_test)) {
  const SeriesFacts& facts = data_.facts;
  if (facts.target && config.loss.label_smoothing > 0) {
    throw Error(c10::str("loss.label_smoothing: belongs to classes, but ", facts.name, " has targets; expected 0, got ",
                         config.loss.label_smoothing));
  }
  model_ = models::SequenceClassifier(model_options(config, facts.channels, facts.outputs(), facts.tokens));
}

models::SeriesBatch TimeSeriesProblem::batch(const data::TimeSeriesSet& set, std::span<const int64_t> cases) const {
  return batch_of(set, cases, data_.facts.tokens, config_.model.pooling == models::Pooling::flatten);
}

std::unique_ptr<train::BatchInputs> TimeSeriesProblem::inputs(std::vector<int64_t> examples) const {
  auto result = std::make_unique<SeriesInputs>(std::move(examples));
  result->batch = batch(data_.train, result->examples);
  result->lengths = lengths_of(data_.train, result->examples, data_.facts.tokens);
  result->right = right_answers(data_.train, result->examples, data_.facts);
  return result;
}

train::BatchLoss TimeSeriesProblem::loss(train::BatchInputs& inputs) {
  auto& series = static_cast<SeriesInputs&>(inputs);
  augment(series.batch, series.lengths, config_);
  const auto [logits, terms] = model_->forward(series.batch);
  const auto [task, score] = judge(logits, series.right, data_.facts, config_.loss.label_smoothing);
  train::BatchLoss result{.total = task,
                          .task = task.item<double>(),
                          .objective = mean_objectives(terms),
                          .examples = std::ssize(inputs.examples),
                          .score = score,
                          .tokens = series.batch.padding.numel()};
  if (config_.loss.eta > 0 && !terms.empty()) {
    const torch::Tensor ksvd = ksvd_loss(terms, config_.loss.eta);
    result.ksvd = ksvd.item<double>();
    result.total = task + ksvd;
  }
  return result;
}

train::Evaluation TimeSeriesProblem::evaluate(train::Part part) {
  if (part == train::Part::validation) return tasks::evaluate(*model_, data_.validation, data_.facts);
  if (!data_.test) data_.test = load_test_(data_.facts);
  return tasks::evaluate(*model_, *data_.test, data_.facts);
}

train::Evaluation evaluate(models::SequenceClassifierImpl& model, const data::TimeSeriesSet& set,
                           const SeriesFacts& facts) {
  torch::NoGradGuard no_grad;
  model.eval();
  const models::SequenceClassifierOptions& options = model.options();
  Examiner examiner(set, facts);
  std::vector<int64_t> cases(static_cast<size_t>(set.cases()));
  std::iota(cases.begin(), cases.end(), 0);
  const auto step = static_cast<size_t>(evaluation_batch(options.tokens));
  for (size_t first = 0; first < cases.size(); first += step) {
    const std::span<const int64_t> chosen = std::span(cases).subspan(first, std::min(step, cases.size() - first));
    examiner.add(chosen,
                 model.forward(batch_of(set, chosen, options.tokens, options.pooling == models::Pooling::flatten)));
  }
  return examiner.result();
}

}  // namespace primal::tasks
