// A set of multivariate time series in memory, as the readers give it and the tasks use it. No LibTorch type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace primal::data {

/// Series of one or more channels, each of its own length, stored one after another.
struct TimeSeriesSet {
  std::string name;                          ///< @problemName of a .ts file, file name without ending of a CSV
  int64_t channels = 0;                      ///< the same for every series
  std::vector<std::string> channel_names{};  ///< of a CSV file; empty if the file has none
  std::vector<std::string> ids;              ///< [cases]; a .ts file numbers its cases from 0
  std::vector<int64_t> offsets = {0};        ///< [cases + 1]: case i holds the steps offsets[i] .. offsets[i + 1]
  std::vector<float> values;                 ///< [steps, channels], the channels of a step together; NaN = missing
  std::vector<int64_t> precise{};            ///< numbers of the channels that vary little around a large number
  std::vector<float> remainders{};           ///< [steps, channels]: what a float loses of values of such; or empty
  std::vector<double> times;                 ///< [steps]: when each step was taken; empty = evenly spaced
  std::vector<std::string> class_names;  ///< in the order of @classLabel; of a CSV: by number if all are, else by text
  std::vector<int64_t> labels;           ///< [cases]: index into class_names; empty if the file has no class labels
  std::vector<double> targets;           ///< [cases]: regression targets; empty if it has none

  int64_t cases() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
  int64_t longest() const;
  int64_t missing() const;  ///< number of NaN values
  /// [length, channels] of one case.
  std::span<const float> series(int64_t i) const;
  /// A set of the given cases, in that order.
  TimeSeriesSet subset(std::span<const int64_t> chosen) const;
};

}  // namespace primal::data
