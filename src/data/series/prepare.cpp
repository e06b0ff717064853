#include "data/series/prepare.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace primal::data {
namespace {

/// Fills channel `c` from step `left` to step `right`, which have values; -1 and `length` stand for "no value there".
class Gap {
 public:
  Gap(std::span<float> values, int64_t channels, std::span<const double> times, std::span<float> remainders)
      : values_(values), channels_(channels), times_(times), remainders_(remainders) {}

  void fill(int64_t c, int64_t left, int64_t right) const {
    const int64_t length = static_cast<int64_t>(values_.size()) / channels_;
    for (int64_t t = left + 1; t < right; ++t) {
      if (left < 0) {
        copy(right, t, c);
      } else if (right == length) {
        copy(left, t, c);
      } else {
        interpolate(left, right, t, c);
      }
    }
  }

 private:
  void copy(int64_t from, int64_t to, int64_t c) const {
    values_[at(to, c)] = values_[at(from, c)];
    if (!remainders_.empty()) remainders_[at(to, c)] = remainders_[at(from, c)];
  }
  void interpolate(int64_t left, int64_t right, int64_t t, int64_t c) const {
    const double share = (time(t) - time(left)) / (time(right) - time(left));
    const double from = value(left, c), to = value(right, c);
    const double between = from + (to - from) * share;
    values_[at(t, c)] = static_cast<float>(between);
    if (remainders_.empty()) return;
    const bool is_precise = remainders_[at(left, c)] != 0 || remainders_[at(right, c)] != 0;
    remainders_[at(t, c)] = is_precise ? static_cast<float>(between - values_[at(t, c)]) : 0;
  }
  double value(int64_t t, int64_t c) const {
    return values_[at(t, c)] + (remainders_.empty() ? 0.0 : remainders_[at(t, c)]);
  }
  size_t at(int64_t t, int64_t c) const { return static_cast<size_t>(t * channels_ + c); }
  double time(int64_t t) const { return times_.empty() ? static_cast<double>(t) : times_[t]; }

  std::span<float> values_;
  int64_t channels_;
  std::span<const double> times_;
  std::span<float> remainders_;
};

/// Adds up `term(channel, value)` of every value that is there, per channel.
template <typename Term>
std::vector<double> sums(const TimeSeriesSet& set, const Term& term) {
  std::vector<double> result(set.channels, 0.0);
  for (std::size_t i = 0; i < set.values.size(); i += static_cast<std::size_t>(set.channels)) {
    for (int64_t c = 0; c < set.channels; ++c) {
      const std::size_t at = i + static_cast<std::size_t>(c);
      const double value = set.values[at] + (set.remainders.empty() ? 0.0 : set.remainders[at]);
      if (!std::isnan(value)) result[c] += term(c, value);
    }
  }
  return result;
}

/// Whether all values of a channel are equal; rounding can hide that from the deviation.
std::vector<bool> constant_channels(const TimeSeriesSet& set) {
  std::vector<double> first(set.channels, std::numeric_limits<double>::quiet_NaN());
  std::vector<bool> constant(set.channels, true);
  sums(set, [&](int64_t c, double value) {
    if (std::isnan(first[c])) first[c] = value;
    if (value != first[c]) constant[c] = false;
    return 0.0;
  });
  return constant;
}

}  // namespace

void interpolate_missing(std::span<float> values, int64_t channels, std::span<const double> times,
                         std::span<float> remainders) {
  if (std::ranges::none_of(values, [](float value) { return std::isnan(value); })) return;
  const int64_t length = static_cast<int64_t>(values.size()) / channels;
  const Gap gap(values, channels, times, remainders);
  for (int64_t c = 0; c < channels; ++c) {
    int64_t left = -1;
    for (int64_t t = 0; t < length; ++t) {
      if (std::isnan(values[t * channels + c])) continue;
      gap.fill(c, left, t);
      left = t;
    }
    if (left >= 0) gap.fill(c, left, length);
  }
}

void interpolate_missing(Series& series, int64_t channels) {
  interpolate_missing(series.values, channels, series.times, series.remainders);
}

void interpolate_missing(TimeSeriesSet& set) {
  for (int64_t i = 0; i < set.cases(); ++i) {
    const auto of_case = [&](std::vector<float>& all) {
      if (all.empty()) return std::span<float>();
      return std::span(all).subspan(set.offsets[i] * set.channels, set.length(i) * set.channels);
    };
    const std::span<const double> times =
        set.times.empty() ? std::span<const double>() : std::span(set.times).subspan(set.offsets[i], set.length(i));
    interpolate_missing(of_case(set.values), set.channels, times, of_case(set.remainders));
  }
}

Scaling scaling_of(const TimeSeriesSet& train) {
  const std::vector<double> count = sums(train, [](int64_t, double) { return 1.0; });
  Scaling result;
  result.mean = sums(train, [](int64_t, double value) { return value; });
  for (int64_t c = 0; c < train.channels; ++c) result.mean[c] /= std::max(count[c], 1.0);
  // A second pass over the differences: the sum of squares alone would lose what a large mean leaves of the deviation.
  result.deviation = sums(train, [&](int64_t c, double value) { return std::pow(value - result.mean[c], 2); });
  const std::vector<bool> constant = constant_channels(train);
  for (int64_t c = 0; c < train.channels; ++c) {
    result.deviation[c] = constant[c] ? 0 : std::sqrt(result.deviation[c] / (count[c] - 1));
  }
  result.precise = train.precise;
  return result;
}

void standardise(std::span<float> values, int64_t channels, const Scaling& scaling, std::span<const float> remainders) {
  assert(static_cast<int64_t>(scaling.mean.size()) == channels);
  constexpr double kTiny = 2.2e-16;  // of the published code (SPEC 3.1)
  constexpr double kLargest = std::numeric_limits<float>::max();
  std::vector<bool> is_precise(static_cast<std::size_t>(channels));
  for (const int64_t c : scaling.precise) is_precise[static_cast<std::size_t>(c)] = !remainders.empty();
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(channels)) {
    for (int64_t c = 0; c < channels; ++c) {
      const std::size_t at = i + static_cast<std::size_t>(c);
      float& value = values[at];
      if (std::isnan(value) || scaling.deviation[c] == 0) {
        value = 0;
      } else {
        const double exact = is_precise[static_cast<std::size_t>(c)] ? value + double{remainders[at]} : value;
        const double scaled = (exact - scaling.mean[c]) / (scaling.deviation[c] + kTiny);
        value = static_cast<float>(std::clamp(scaled, -kLargest, kLargest));
      }
    }
  }
}

void standardise(TimeSeriesSet& set, const Scaling& scaling) {
  standardise(set.values, set.channels, scaling, set.remainders);
  set.remainders = {};
  set.precise = {};
}

TimeScaling time_scaling_of(const TimeSeriesSet& train) {
  std::vector<double> steps;
  for (int64_t i = 0; i < train.cases() && !train.times.empty(); ++i) {
    for (int64_t t = train.offsets[i] + 1; t < train.offsets[i + 1]; ++t) {
      steps.push_back(train.times[t] - train.times[t - 1]);
    }
  }
  if (steps.empty()) return {};
  // Of an even number the upper of the two in the middle: a step that occurs, and never 0.
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  return {*middle};
}

TargetScaling target_scaling_of(const TimeSeriesSet& train) {
  const double count = static_cast<double>(train.targets.size());
  double mean = 0, squares = 0;
  for (const double target : train.targets) mean += target / count;
  for (const double target : train.targets) squares += std::pow(target - mean, 2);
  return {mean, std::sqrt(squares / count)};
}

std::vector<float> scaled_times(std::span<const double> times, const TimeScaling& scaling) {
  std::vector<float> result;
  result.reserve(times.size());
  for (const double time : times) result.push_back(static_cast<float>((time - times.front()) / scaling.step));
  return result;
}

}  // namespace primal::data
