#include "data/series/summary.h"

#include <algorithm>

namespace primal::data {

Summary summarise(const TimeSeriesSet& set) {
  Summary result;
  result.name = set.name;
  result.cases = set.cases();
  result.channels = set.channels;
  result.channel_names = set.channel_names;
  result.longest = result.shortest = set.longest();
  for (int64_t i = 0; i < set.cases(); ++i) result.shortest = std::min(result.shortest, set.length(i));
  if (set.cases() > 0) result.mean_length = static_cast<double>(set.offsets.back()) / static_cast<double>(set.cases());
  result.missing = set.missing();
  result.has_times = !set.times.empty();
  for (const std::string& name : set.class_names) result.classes.push_back({name, 0});
  for (const int64_t label : set.labels) ++result.classes[label].cases;
  if (!set.targets.empty()) {
    const auto [smallest, largest] = std::ranges::minmax(set.targets);
    result.targets.emplace(smallest, largest);
  }
  return result;
}

}  // namespace primal::data
