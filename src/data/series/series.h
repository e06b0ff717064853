// One time series, as the readers give it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace primal::data {

/// One case.
struct Series {
  std::string id;    ///< a .ts file numbers its cases from 0
  int64_t line = 0;  ///< of the file where it begins, from 1
  int64_t length = 0;
  std::vector<float> values;      ///< [length, channels]; NaN = missing
  std::vector<float> remainders;  ///< [length, channels]: what a float loses of each value
  std::vector<double> times;      ///< [length], strictly increasing; empty = evenly spaced
  std::optional<std::string> label;
  std::optional<double> target;
};

}  // namespace primal::data
