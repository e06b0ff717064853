#include "tasks/class_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/text.h"

namespace primal::tasks {

void add_settings(base::Settings& settings, ClassWeightOptions& options) {
  settings.add("loss.class_weights", base::WordOrNumbers{{"none", "balanced"}, &options.word, &options.numbers},
               "balanced: rare classes count as much as frequent ones; or a number per class, by their names");
}

torch::Tensor class_weights(const ClassWeightOptions& options, std::span<const int64_t> labels, int64_t classes) {
  if (options.word == "none") return {};
  std::vector<double> counts(static_cast<size_t>(classes)), weights = options.numbers;
  for (const int64_t label : labels) ++counts[label];
  if (options.word == "balanced") {
    weights.clear();
    for (const double count : counts) weights.push_back(count > 0 ? 1 / count : 0);
  }
  if (std::ssize(weights) != classes) {
    base::fail("loss.class_weights", "expected ", classes, " numbers, as there are classes, got ", weights.size());
  }
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0 && std::isfinite(weights[i]))) {
      base::fail("loss.class_weights", "expected numbers from 0, got ", weights[i]);
    }
    sum += weights[i] * counts[i];
  }
  if (!(sum > 0)) base::fail("loss.class_weights", "expected a class that occurs to have a weight above 0, got none");
  torch::Tensor result = torch::tensor(weights, torch::kFloat64);
  return (result * (static_cast<double>(labels.size()) / sum)).to(torch::kFloat32);
}

}  // namespace primal::tasks
