#include "data/series/precise_channels.h"

#include <algorithm>
#include <cmath>

namespace primal::data {

namespace {

// Of the largest value: a channel that varies by less takes fewer than about 2000 different floats.
constexpr double kSmallShare = 1.0 / (1 << 13);

}  // namespace

bool PreciseChannels::Extent::may_be_precise() const {
  return has_value && highest - lowest < kSmallShare * std::max(std::abs(lowest), std::abs(highest));
}

void PreciseChannels::extend(const Series& series) {
  if (channels_.empty()) channels_.resize(series.values.size() / static_cast<std::size_t>(series.length));
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (std::isnan(series.values[i])) continue;
    const double value = static_cast<double>(series.values[i]) + series.remainders[i];
    Extent& extent = channels_[i % channels_.size()];
    extent.lowest = extent.has_value ? std::min(extent.lowest, value) : value;
    extent.highest = extent.has_value ? std::max(extent.highest, value) : value;
    extent.has_value = true;
  }
}

void PreciseChannels::add(const Series& series, std::vector<float>& remainders) {
  extend(series);
  if (all_ || std::ranges::any_of(channels_, &Extent::may_be_precise)) {
    remainders.resize(values_, 0.0F);  // of channels that had no value so far
    remainders.insert(remainders.end(), series.remainders.begin(), series.remainders.end());
  } else {
    remainders = {};
  }
  values_ += series.values.size();
}

std::vector<int64_t> PreciseChannels::finish(std::vector<float>& remainders) const {
  std::vector<int64_t> precise;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c].is_precise()) precise.push_back(static_cast<int64_t>(c));
  }
  if (all_) return precise;
  if (precise.empty()) remainders = {};
  for (std::size_t i = 0; i < remainders.size(); ++i) {
    if (!channels_[i % channels_.size()].is_precise()) remainders[i] = 0;
  }
  return precise;
}

}  // namespace primal::data
