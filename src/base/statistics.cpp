#include "base/statistics.h"

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

std::pair<double, double> wilson_interval(double share, double cases) {
  constexpr double z = 1.959964;  // of the normal distribution, 2.5 % in each tail
  const double scale = 1 + z * z / cases;
  const double middle = (share + z * z / (2 * cases)) / scale;
  const double half = z / scale * std::sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases));
  return {middle - half, middle + half};
}

}  // namespace primal::base
