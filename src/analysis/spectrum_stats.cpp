#include "analysis/spectrum_stats.h"

#include <primal/error.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace primal::analysis {

double effective_rank(std::span<const double> singular_values) {
  double largest = 0;
  for (std::size_t i = 0; i < singular_values.size(); ++i) {
    const double value = singular_values[i];
    if (!std::isfinite(value) || value < 0) {
      throw Error("effective_rank: singular value " + std::to_string(i) +
                  " should be finite and not negative, but is " + std::to_string(value));
    }
    largest = std::max(largest, value);
  }
  if (largest == 0) return 0;
  double sum = 0;  // of values scaled by the largest, so that neither overflow nor underflow can spoil it
  for (double value : singular_values) sum += value / largest;
  double entropy = 0;
  for (double value : singular_values) {
    const double share = value / largest / sum;
    if (share > 0) entropy -= share * std::log(share);
  }
  return std::exp(entropy);
}

}  // namespace primal::analysis
