#include "base/statistics.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace primal::base {

double mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double middle = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double mean_interval(std::span<const double> values) {
  // Student's t, 2.5 % in the upper tail, for 1, 2, ... degrees of freedom; then its expansion around the normal
  // quantile z, which is off by at most 2e-4.
  constexpr std::array t = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
  constexpr double z = 1.959964;
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const size_t freedom = values.size() - 1;
  const auto v = static_cast<double>(freedom);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double expansion = z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
                           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
  const double quantile = freedom <= t.size() ? t[freedom - 1] : expansion;
  return quantile * deviation(values) / std::sqrt(v + 1);
}

std::pair<double, double> wilson_interval(double share, double cases) {
  constexpr double z = 1.959964;  // of the normal distribution, 2.5 % in each tail
  const double scale = 1 + z * z / cases;
  const double middle = (share + z * z / (2 * cases)) / scale;
  const double half = z / scale * std::sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases));
  return {middle - half, middle + half};
}

}  // namespace primal::base
