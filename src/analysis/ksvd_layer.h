// What was measured of one primal layer, beside random weights. No LibTorch.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/ksvd_measures.h"

namespace primal::analysis {

/// Mean and standard deviation of the finite ones among the numbers it is given (Welford's sums).
class Spread {
 public:
  void add(double value) {
    if (!std::isfinite(value)) return;
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }
  std::int64_t count() const { return count_; }
  /// NaN if there are none; of fewer than two the deviation is.
  double mean() const { return count_ > 0 ? mean_ : std::numeric_limits<double>::quiet_NaN(); }
  double deviation() const {
    return count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1))
                      : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

struct MeasuredWeights {
  std::array<Spread, kMeasures> all;                 ///< over samples and heads; of random weights also over draws
  std::vector<std::array<Spread, kMeasures>> heads;  ///< over samples
  /// Of the conditions of the mean of J over all samples, which one pair of weights could meet; NaN if there are none.
  Spread mean_residual;

  const Spread& of(Measure measure) const { return all[index_of(measure)]; }
};

/// Of the kernel matrix, whatever the weights: means over samples and heads.
struct KernelFacts {
  std::vector<double> explained;  ///< share of sum sigma^2 in the first 1, 2, ... pairs; the last is 1
  double effective_rank = 0;      ///< exp of the entropy of sigma^2 / sum sigma^2
};

struct KsvdLayer {
  std::string name{};         ///< "layer 1"
  std::int64_t rank = 0;      ///< s
  std::int64_t rows = 0;      ///< n; 0 = data-independent weights
  std::int64_t features = 0;  ///< p: no more pairs than this exist
  std::int64_t heads = 0;     ///< H
  std::int64_t samples = 0;   ///< that had a token
  MeasuredWeights own{}, random{};
  KernelFacts kernel{};
};

}  // namespace primal::analysis
