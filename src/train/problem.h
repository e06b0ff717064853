// What the trainer needs to know of a task: a model, a loss of some training examples, an evaluation.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "run/evaluation.h"
#include "run/metric.h"

namespace primal::train {

using run::Evaluation;
using run::Metric;

/// What a step of training needs besides the model. A task adds its tensors.
struct Batch {
  explicit Batch(std::vector<int64_t> numbers) : examples(std::move(numbers)), weight(std::ssize(examples)) {}
  virtual ~Batch() = default;

  std::vector<int64_t> examples;  ///< numbers of training examples
  /// What the loss is a mean over: examples, tokens, steps that are not padding. Several batches make one step of the
  /// optimizer with these weights, so that the step is that of one large batch.
  int64_t weight;
};

/// The loss of one batch, ready to be differentiated, and what to show of it.
struct BatchLoss {
  torch::Tensor total;            ///< scalar: task + eta KSVD, mean over the weight of the batch
  double task = 0;                ///< mean over the weight
  double ksvd = 0;                ///< eta times the KSVD loss
  std::vector<double> objective;  ///< mean J of each primal layer
  /// Sum over the weight of what the metric is a mean of: right classes; of targets 1 - squared error in their
  /// deviations. Nothing if the metric is no such mean.
  std::optional<double> score{};
  int64_t tokens = 0;
};

enum class Part { train, validation, test };

class Problem {
 public:
  virtual ~Problem() = default;
  virtual torch::nn::Module& model() = 0;
  /// What the scores of batches and evaluations are.
  virtual const Metric& metric() const = 0;
  /// Number of training examples.
  virtual int64_t examples() const = 0;
  /// Called on another thread while the step before computes. Every chance comes from `random`, which is seeded by the
  /// seed of the run and the number of the batch: augmentation lives here.
  virtual std::unique_ptr<Batch> batch(std::vector<int64_t> examples, base::Random random) const = 0;
  /// batch: made by batch(), used once. The model is in training mode.
  virtual BatchLoss loss(Batch& batch) = 0;
  /// The model is in evaluation mode and no gradient is recorded.
  virtual Evaluation evaluate(Part part) = 0;
  /// Whether weight decay applies to a parameter. By default not to biases, norms, Lambda and frequencies: all of them
  /// are vectors but Lambda. Nor to time scales and what else mixes tokens, which does not begin near 0.
  virtual bool decays(std::string_view parameter, const torch::Tensor& value) const {
    const auto is = [&](std::string_view name) { return parameter.ends_with(name); };
    return value.dim() > 1 && !(is(".lam") || is("log_scale") || is(".gain") || is(".taps"));
  }
};

}  // namespace primal::train
