#include "train/meters.h"

#include <algorithm>

#include "run/target_errors.h"

namespace primal::train {

namespace {

void add_to(LossSums& sums, const LossSums& batch) {
  sums.loss += batch.loss;
  sums.objective.resize(batch.objective.size());
  for (size_t i = 0; i < batch.objective.size(); ++i) sums.objective[i] += batch.objective[i];
}

run::Evaluation evaluation_of(LossSums sums, size_t examples, double score) {
  const double count = static_cast<double>(std::max<size_t>(examples, 1));
  for (double& objective : sums.objective) objective /= count;
  return {.score = score, .loss = sums.loss / count, .objective = std::move(sums.objective)};
}

}  // namespace

ClassificationMeter::ClassificationMeter(std::vector<std::string> classes)
    : details_{std::move(classes), run::Confusion()} {
  const size_t count = details_.classes.size();
  details_.confusion.assign(count, std::vector<int64_t>(count));
}

void ClassificationMeter::add(std::span<const int64_t> truth, std::span<const int64_t> predicted,
                              const LossSums& batch) {
  for (size_t i = 0; i < truth.size(); ++i) ++details_.confusion[truth[i]][predicted[i]];
  add_to(sums_, batch);
}

run::Evaluation ClassificationMeter::result() const {
  int64_t examples = 0;
  for (const auto& row : details_.confusion) {
    for (const int64_t count : row) examples += count;
  }
  run::Evaluation evaluation =
      evaluation_of(sums_, static_cast<size_t>(examples), run::accuracy_of(details_.confusion));
  evaluation.also["macro_f1"] = run::macro_f1_of(details_.confusion);
  put(evaluation, details_);
  return evaluation;
}

void RegressionMeter::add(std::span<const double> truth, std::span<const double> predicted, const LossSums& batch) {
  for (size_t i = 0; i < truth.size(); ++i) pairs_.emplace_back(truth[i], predicted[i]);
  add_to(sums_, batch);
}

run::Evaluation RegressionMeter::result() const {
  run::Evaluation evaluation = evaluation_of(sums_, pairs_.size(), run::r2_of(pairs_));
  put(evaluation, run::errors_of(pairs_));
  return evaluation;
}

}  // namespace primal::train
