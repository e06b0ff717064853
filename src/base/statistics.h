// Small statistics.
#pragma once

#include <span>
#include <utility>

namespace primal::base {

/// NaN if there are no values.
double mean(std::span<const double> values);

/// Standard deviation of the sample (n - 1); NaN for fewer than two values.
double deviation(std::span<const double> values);

/// Half of the 95 % interval (Student) of the mean of independent values; NaN for fewer than two.
double mean_interval(std::span<const double> values);

/// The 95 % interval (Wilson) of a share of `cases`; it stays within 0 and 1 for small sets. cases > 0
std::pair<double, double> wilson_interval(double share, double cases);

}  // namespace primal::base
