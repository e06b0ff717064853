// Small statistics of accuracies.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace primal::report {

/// NaN if there are no values.
double mean(std::span<const double> values);

/// Standard deviation of the sample (n - 1); NaN for fewer than two values.
double deviation(std::span<const double> values);

/// The 95 % interval (Wilson) of a share of `cases`; it stays within 0 and 1 for small sets. cases > 0
std::pair<double, double> wilson_interval(double share, double cases);

struct ClassScores {
  std::int64_t cases = 0;                    ///< that belong to the class
  double precision = 0, recall = 0, f1 = 0;  ///< 0 where the class was never predicted or has no case
};

/// confusion: [true class][predicted class], square
std::vector<ClassScores> class_scores(const std::vector<std::vector<std::int64_t>>& confusion);

}  // namespace primal::report
