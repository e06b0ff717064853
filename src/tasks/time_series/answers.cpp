#include "tasks/time_series/answers.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tasks/ksvd.h"

namespace primal::tasks {

namespace {

torch::Tensor labels_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases) {
  torch::Tensor labels = torch::empty({std::ssize(cases)}, torch::kInt64);
  std::transform(cases.begin(), cases.end(), labels.data_ptr<int64_t>(), [&](int64_t i) { return set.labels[i]; });
  return labels;
}

// In standard deviations from the mean, as the model learns them. -> [B]
torch::Tensor targets_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases,
                         const data::TargetScaling& scaling) {
  torch::Tensor targets = torch::empty({std::ssize(cases)}, torch::kFloat32);
  std::transform(cases.begin(), cases.end(), targets.data_ptr<float>(),
                 [&](int64_t i) { return static_cast<float>(scaling.forward(set.targets[i])); });
  return targets;
}

template <typename T>
std::span<const T> as_span(const torch::Tensor& tensor) {
  return {tensor.data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

// In float32 whatever the precision of the pass.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, int64_t reduction,
                            double smoothing) {
  return at::cross_entropy_loss(logits.to(torch::kFloat32), labels, {}, reduction, -100, smoothing);
}

// The mean over the examples, not over their weights: several small batches then give what a large one does.
torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& right, const LabelOptions& labels) {
  if (!labels.weights.defined()) return cross_entropy(logits, right, at::Reduction::Mean, labels.smoothing);
  const torch::Tensor sum = at::cross_entropy_loss(logits.to(torch::kFloat32), right, labels.weights,
                                                   at::Reduction::Sum, -100, labels.smoothing);
  return sum / right.numel();
}

// outputs: [B, 1]
torch::Tensor squared_error(const torch::Tensor& outputs, const torch::Tensor& targets, int64_t reduction) {
  return at::mse_loss(outputs.squeeze(1).to(torch::kFloat32), targets, reduction);
}

}  // namespace

torch::Tensor right_answers(const data::TimeSeriesSet& set, std::span<const int64_t> cases, const SeriesFacts& facts) {
  return facts.target ? targets_of(set, cases, *facts.target) : labels_of(set, cases);
}

std::vector<double> targets_from(const torch::Tensor& outputs, const data::TargetScaling& scaling) {
  const torch::Tensor values = outputs.to(torch::kFloat64).contiguous();
  std::vector<double> targets;
  for (const double value : as_span<double>(values)) targets.push_back(scaling.backward(value));
  return targets;
}

Judged judge(const torch::Tensor& outputs, const torch::Tensor& right, const SeriesFacts& facts,
             const LabelOptions& labels) {
  if (facts.target) {
    const torch::Tensor loss = squared_error(outputs, right, at::Reduction::Mean);
    return {loss, static_cast<double>(right.numel()) * (1 - loss.item<double>())};
  }
  return {mean_cross_entropy(outputs, right, labels),
          static_cast<double>(outputs.argmax(1).eq(right).sum().item<int64_t>())};
}

Examiner::Examiner(const data::TimeSeriesSet& set, const SeriesFacts& facts)
    : set_(set), facts_(facts), classes_(facts.classes) {}

void Examiner::add(std::span<const int64_t> cases, const models::Classification& answer) {
  train::LossSums sums{.objective = mean_objectives(answer.terms)};
  for (double& objective : sums.objective) objective *= static_cast<double>(cases.size());
  const torch::Tensor &outputs = answer.outputs, right = right_answers(set_, cases, facts_);
  if (facts_.target) {
    sums.loss = squared_error(outputs, right, at::Reduction::Sum).item<double>();
    std::vector<double> truth;
    for (const int64_t i : cases) truth.push_back(set_.targets[i]);
    targets_.add(truth, targets_from(outputs, *facts_.target), sums);
  } else {
    sums.loss = cross_entropy(outputs, right, at::Reduction::Sum, 0).item<double>();
    const torch::Tensor predicted = outputs.argmax(1);
    classes_.add(as_span<int64_t>(right), as_span<int64_t>(predicted), sums);
  }
}

run::Evaluation Examiner::result() const { return facts_.target ? targets_.result() : classes_.result(); }

}  // namespace primal::tasks
