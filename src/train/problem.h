// What the trainer needs to know of a task: a model, a loss of some training examples, an evaluation.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <span>
#include <string>
#include <vector>

#include "train/evaluation.h"

namespace primal::train {

/// The loss of one batch, ready to be differentiated, and what to show of it.
struct BatchLoss {
  torch::Tensor total;            ///< scalar: task + eta KSVD, mean over the examples
  double task = 0;                ///< mean over the examples
  double ksvd = 0;                ///< eta times the KSVD loss
  std::vector<double> objective;  ///< mean J of each primal layer
  int64_t examples = 0;
  int64_t correct = 0;
  int64_t tokens = 0;
};

enum class Part { validation, test };

class Problem {
 public:
  virtual ~Problem() = default;
  virtual torch::nn::Module& model() = 0;
  /// Number of training examples.
  virtual int64_t examples() const = 0;
  /// Of the training examples with these numbers; the model is in training mode.
  virtual BatchLoss loss(std::span<const int64_t> examples) = 0;
  /// The model is in evaluation mode and no gradient is recorded.
  virtual Evaluation evaluate(Part part) = 0;
};

}  // namespace primal::train
