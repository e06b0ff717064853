#include "data/series/time_series.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace primal::data {

int64_t TimeSeriesSet::longest() const {
  int64_t result = 0;
  for (int64_t i = 0; i < cases(); ++i) result = std::max(result, length(i));
  return result;
}

int64_t TimeSeriesSet::missing() const {
  return std::ranges::count_if(values, [](float value) { return std::isnan(value); });
}

std::span<const float> TimeSeriesSet::series(int64_t i) const {
  assert(i >= 0 && i < cases());
  return std::span(values).subspan(offsets[i] * channels, length(i) * channels);
}

TimeSeriesSet TimeSeriesSet::subset(std::span<const int64_t> chosen) const {
  TimeSeriesSet result;
  result.name = name;
  result.channels = channels;
  result.channel_names = channel_names;
  result.precise = precise;
  result.class_names = class_names;
  for (const int64_t i : chosen) {
    const std::span<const float> from = series(i);
    result.values.insert(result.values.end(), from.begin(), from.end());
    if (!remainders.empty()) {
      const auto first = remainders.begin() + offsets[i] * channels;
      result.remainders.insert(result.remainders.end(), first, first + length(i) * channels);
    }
    result.offsets.push_back(result.offsets.back() + length(i));
    if (!times.empty()) {
      result.times.insert(result.times.end(), times.begin() + offsets[i], times.begin() + offsets[i + 1]);
    }
    if (!ids.empty()) result.ids.push_back(ids[i]);
    if (!labels.empty()) result.labels.push_back(labels[i]);
    if (!targets.empty()) result.targets.push_back(targets[i]);
  }
  return result;
}

}  // namespace primal::data
