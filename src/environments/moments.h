// Mean and deviation of each number of a vector, over all vectors seen so far.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/json_fields.h"

namespace primal::environments {

/// Welford's sums: they lose no digits where the mean is large beside the deviation, as sums of squares would.
struct Moments {
  int64_t count = 0;
  std::vector<double> mean;     ///< [size]
  std::vector<double> squares;  ///< [size], sums of squared distances from the mean

  explicit Moments(int64_t size) : mean(static_cast<size_t>(size)), squares(static_cast<size_t>(size)) {}

  void add(std::span<const double> values);
  /// As if all that `other` saw had been added. The bits depend on the order of such calls.
  void add(const Moments& other);
  /// Of the sample (n - 1); 1 while fewer than two vectors were seen, as ARS begins.
  std::vector<double> deviation() const;

  bool operator==(const Moments&) const = default;
};

nlohmann::json to_json(const Moments& moments);
/// Throws Error that names the field if the sizes are not `size`.
Moments moments_of(const base::Fields& fields, int64_t size);

}  // namespace primal::environments
