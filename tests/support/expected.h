// What a kernel should leave in memory, element by element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace primal::tests {

constexpr double kRounding = std::numeric_limits<float>::epsilon();

/// What should be in memory after a call. Where it writes nothing, the tolerance stays 0.
struct Expected {
  explicit Expected(const std::vector<float>& before)
      : value(before.begin(), before.end()), tolerance(before.size(), 0.0) {}

  void add(size_t i, double term, double error) {
    value[i] += term;
    tolerance[i] += error + kRounding * std::abs(value[i]);
  }
  void set(size_t i, double number, double error) {
    value[i] = tolerance[i] = 0;
    add(i, number, error);
  }

  void expect_equal(const std::vector<float>& actual) const {
    ASSERT_EQ(actual.size(), value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      if (!(std::abs(actual[i] - value[i]) <= tolerance[i])) {
        FAIL() << "element " << i << " is " << actual[i] << " instead of " << value[i] << " +- " << tolerance[i];
      }
    }
  }

  std::vector<double> value, tolerance;
};

}  // namespace primal::tests
