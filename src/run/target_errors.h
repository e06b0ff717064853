// Evaluations of regressions: how far predicted targets are from the true ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/evaluation.h"

namespace primal::run {

/// In the unit of the target.
struct TargetErrors {
  double root_mean_square = 0, mean = 0, median = 0;
  int64_t cases = 0;
  /// (true, predicted) in rising order; of many cases some, evenly chosen.
  std::vector<std::pair<double, double>> pairs{};
};

TargetErrors errors_of(std::vector<std::pair<double, double>> pairs);

/// 1 - squared error / that of always answering the mean. Of targets that are all the same there is nothing to explain:
/// 1 for right answers, 0 for others.
double r2_of(const std::vector<std::pair<double, double>>& pairs);

/// Numbers and details of an evaluation: rmse, mae, median_error, cases, pairs.
void put(Evaluation& evaluation, const TargetErrors& errors);
/// Nothing if the evaluation is not of targets. Throws Error, which `where` begins, for pairs that are none.
std::optional<TargetErrors> target_errors(const Evaluation& evaluation, const std::string& where = "evaluation");

}  // namespace primal::run
