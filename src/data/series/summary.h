// The facts about a set that `primal data info` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/series/time_series.h"

namespace primal::data {

struct ClassCount {
  std::string name;
  int64_t cases = 0;
};

struct Summary {
  std::string name;
  int64_t cases = 0, channels = 0;
  std::vector<std::string> channel_names;  ///< empty if the file has none
  int64_t shortest = 0, longest = 0;
  double mean_length = 0;
  int64_t missing = 0;  ///< values
  bool has_times = false;
  std::vector<ClassCount> classes;                   ///< in the order of class_names; a class may have no case
  std::optional<std::pair<double, double>> targets;  ///< smallest and largest
};

Summary summarise(const TimeSeriesSet& set);

}  // namespace primal::data
