// Classes that are rare, or cost more to miss: loss.class_weights.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/settings.h"

namespace primal::tasks {

struct ClassWeightOptions {
  std::string word = "none";      ///< "none", "balanced": every class counts the same in sum; empty: the numbers
  std::vector<double> numbers{};  ///< one per class, in the order of their names; only their ratios count
};

/// Makes them known as loss.class_weights.
void add_settings(base::Settings& settings, ClassWeightOptions& options);

/// What the loss of an example of each class is taken times, [classes] float32; undefined for "none". The mean over the
/// training examples is 1. labels: of the training examples. Throws Error if the numbers do not fit the classes.
torch::Tensor class_weights(const ClassWeightOptions& options, std::span<const int64_t> labels, int64_t classes);

}  // namespace primal::tasks
