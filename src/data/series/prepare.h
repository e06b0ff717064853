// What happens between a file and a model: missing values, standardised channels, scaled times, a held-out part.
//
//   interpolate_missing(train);
//   const Scaling scaling = scaling_of(train);
//   standardise(train.values, train.channels, scaling);  // and the same scaling for every other set
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/series/series_reader.h"
#include "data/series/time_series.h"

namespace primal::data {

/// Replaces every NaN by linear interpolation between the neighbours in its series and channel, over the times if there
/// are any; before the first and after the last value, by the nearest. A channel without a value stays NaN, which
/// standardise() turns into 0, the mean of the training set. values: [length, channels], remainders: as values, or
/// empty; times: [length] or empty
void interpolate_missing(std::span<float> values, int64_t channels, std::span<const double> times = {},
                         std::span<float> remainders = {});
void interpolate_missing(Series& series, int64_t channels);
void interpolate_missing(TimeSeriesSet& set);

/// Mean and sample deviation (divisor n - 1) of every channel. A channel that is constant, or has no value, has
/// deviation 0.
struct Scaling {
  std::vector<double> mean, deviation;  ///< [channels]
  std::vector<int64_t> precise{};       ///< numbers of the channels whose remainders count
  bool operator==(const Scaling&) const = default;
};

/// Over all steps of all series; NaN do not count.
Scaling scaling_of(const TimeSeriesSet& train);

/// (x - mean) / (deviation + 2.2e-16) as in the published code, except that a channel of deviation 0 becomes 0 wherever
/// it is used: it was constant in training, and nothing was learned about how far another value is away.
/// NaN becomes 0. In double: a channel may vary little around a large number. values: [steps, channels], remainders: as
/// values, or empty
void standardise(std::span<float> values, int64_t channels, const Scaling& scaling,
                 std::span<const float> remainders = {});
/// Then there are no remainders any more.
void standardise(TimeSeriesSet& set, const Scaling& scaling);

/// The unit in which a model sees times: the median step between two rows of the training set; 1 if it has no times.
struct TimeScaling {
  double step = 1;
  bool operator==(const TimeScaling&) const = default;
};
TimeScaling time_scaling_of(const TimeSeriesSet& train);

/// Times of one series in median steps since its start: 0, 1, 2, ... if the steps are even.
std::vector<float> scaled_times(std::span<const double> times, const TimeScaling& scaling);

/// Mean and deviation (divisor n) of the targets. A model learns (target - mean) / deviation, so that its mean squared
/// error is 1 - R2.
struct TargetScaling {
  double mean = 0, deviation = 1;
  double forward(double target) const { return (target - mean) / deviation; }
  double backward(double output) const { return mean + deviation * output; }
  bool operator==(const TargetScaling&) const = default;
};
/// Of a set with at least two different targets.
TargetScaling target_scaling_of(const TimeSeriesSet& train);

/// Two lists of case numbers, each in rising order; every case is in one of them.
struct Split {
  std::vector<int64_t> train, held_out;
};

/// Holds out about `fraction` (0 <= fraction < 1) of every class, at least one case of each class staying in the
/// training part; in total as near to fraction * cases as that allows. Depends on nothing but the arguments: the same
/// seed gives the same split on every machine. labels: [cases], each from 0 to classes - 1
Split stratified_split(std::span<const int64_t> labels, int64_t classes, double fraction, uint64_t seed);

/// The same without classes.
Split random_split(int64_t cases, double fraction, uint64_t seed);

/// By class if the set has labels; with targets so that small and large ones are held out alike; else at random.
Split split(const TimeSeriesSet& set, double fraction, uint64_t seed);

}  // namespace primal::data
