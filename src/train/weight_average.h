// The moving average of the weights of a run: smoother than the weights of any one step, and often better.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/checkpoint.h"

namespace primal::train {

class WeightAverage {
 public:
  /// decay 0: there is no average, and everything below does nothing.
  WeightAverage(torch::nn::Module& model, double decay);

  /// After step number `step` of the optimizer (1, 2, ...): average = d average + (1 - d) weights. d is `decay`, but
  /// (1 + step) / (10 + step) as long as that is smaller, so that the first, random weights are soon forgotten.
  void update(int64_t step);

  /// While it lives the model has the average; then it has its own weights again.
  class InModel {
   public:
    explicit InModel(const WeightAverage& average);
    ~InModel();
    InModel(const InModel&) = delete;
    InModel& operator=(const InModel&) = delete;

   private:
    const WeightAverage& average_;
    std::vector<torch::Tensor> own_;
  };

  /// For good.
  void give_to_model() const;

  /// "average.NAME" of each weight.
  Tensors state() const;
  /// Takes its tensors out of `state`. Throws Error, which `file` begins, for a missing one or another shape or dtype.
  void load_state(Tensors& state, const std::string& file);

 private:
  std::vector<std::string> names_;
  std::vector<torch::Tensor> weights_, averages_;  // none without an average
  double decay_;
};

}  // namespace primal::train
