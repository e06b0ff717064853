// What the trainer needs to know of a task: a model, a loss of some training examples, an evaluation.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "train/evaluation.h"

namespace primal::train {

/// What a batch needs besides the model. A task adds its tensors.
struct BatchInputs {
  explicit BatchInputs(std::vector<int64_t> numbers) : examples(std::move(numbers)) {}
  virtual ~BatchInputs() = default;

  std::vector<int64_t> examples;  ///< numbers of training examples
};

/// The loss of one batch, ready to be differentiated, and what to show of it.
struct BatchLoss {
  torch::Tensor total;            ///< scalar: task + eta KSVD, mean over the examples
  double task = 0;                ///< mean over the examples
  double ksvd = 0;                ///< eta times the KSVD loss
  std::vector<double> objective;  ///< mean J of each primal layer
  int64_t examples = 0;
  double score = 0;  ///< sum over the examples: right classes; of targets 1 - squared error in their deviations
  int64_t tokens = 0;
};

enum class Part { validation, test };

class Problem {
 public:
  virtual ~Problem() = default;
  virtual torch::nn::Module& model() = 0;
  /// What the scores of batches and evaluations are.
  virtual Measure measure() const { return Measure::accuracy; }
  /// Number of training examples.
  virtual int64_t examples() const = 0;
  /// Called on another thread while the previous batch computes. Must not draw random numbers: their order would depend
  /// on chance.
  virtual std::unique_ptr<BatchInputs> inputs(std::vector<int64_t> examples) const {
    return std::make_unique<BatchInputs>(std::move(examples));
  }
  /// inputs: made by inputs(), used once. The model is in training mode.
  virtual BatchLoss loss(BatchInputs& inputs) = 0;
  /// The model is in evaluation mode and no gradient is recorded.
  virtual Evaluation evaluate(Part part) = 0;
};

}  // namespace primal::train
