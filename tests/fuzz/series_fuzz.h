// What every reader of time series promises for any bytes: a one-line primal::Error, or a set whose parts fit together
// and whose memory is bounded by the size of the text.
#pragma once

#include <primal/error.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "data/series/line_source.h"
#include "data/series/prepare.h"
#include "data/series/series_reader.h"
#include "data/series/summary.h"

namespace primal::fuzz {

inline void require(bool condition, const char* promise) {  // assert() is off in a release build
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

using MakeReader = std::unique_ptr<data::SeriesReader> (*)(data::LineSource, const data::ReadOptions&);

inline std::optional<data::TimeSeriesSet> read(MakeReader make_reader, std::string_view text, bool labels_optional) {
  constexpr std::string_view kFileName = "fuzz";
  try {
    const auto reader = make_reader(data::LineSource(std::string(kFileName), text), {labels_optional});
    return data::read_all(*reader, std::string(kFileName));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz:"), "an error begins with the file name");
    require(message.find_first_of("\r\n") == message.npos, "an error is one line");
    require(message.size() < 2000, "an error does not grow with the file");
    require(base::is_utf8(message), "an error is UTF-8");
    return std::nullopt;
  }
}

inline void check(const data::TimeSeriesSet& set, std::size_t text_size) {
  const auto cases = static_cast<std::size_t>(set.cases()), steps = static_cast<std::size_t>(set.offsets.back());
  require(cases > 0, "a file that is read has a case");
  require(set.channels > 0, "a case has a channel");
  require(set.ids.size() == cases, "every case has an id");
  require(set.values.size() == steps * static_cast<std::size_t>(set.channels), "every step has all channels");
  require(set.values.size() <= text_size, "a value takes at least a byte of the text");
  require(set.remainders.empty() || set.remainders.size() == set.values.size(), "all values or none have a remainder");
  require(set.times.empty() || set.times.size() == steps, "all steps or none have a time");
  require(set.labels.empty() || set.labels.size() == cases, "all cases or none have a label");
  require(set.targets.empty() || set.targets.size() == cases, "all cases or none have a target");
  for (const int64_t label : set.labels) {
    require(label >= 0 && label < static_cast<int64_t>(set.class_names.size()), "a label is one of the classes");
  }
  for (const float value : set.values) require(!std::isinf(value), "a value is finite or missing");
  for (int64_t i = 0; i < set.cases(); ++i) {
    require(set.length(i) > 0, "a series has a step");
    for (int64_t t = set.offsets[i] + 1; t < set.offsets[i + 1] && !set.times.empty(); ++t) {
      require(set.times[t] > set.times[t - 1], "times rise");
    }
  }
}

/// A set that was read can be prepared like any other.
inline void prepare(data::TimeSeriesSet set) {
  data::interpolate_missing(set);
  data::standardise(set, data::scaling_of(set));
  for (const float value : set.values) require(std::isfinite(value), "a prepared value is finite");
  require(data::time_scaling_of(set).step > 0, "the median step is positive");
  const data::Split split = data::split(set, 0.2, 1);
  require(split.train.size() + split.held_out.size() == static_cast<std::size_t>(set.cases()), "a split is complete");
  require(data::summarise(set).missing == 0, "nothing is missing after the preparation");
}

inline void check_reader(MakeReader make_reader, const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::optional<data::TimeSeriesSet> strict = read(make_reader, text, false);
  const std::optional<data::TimeSeriesSet> tolerant = read(make_reader, text, true);
  if (tolerant) check(*tolerant, size);
  if (strict) {
    check(*strict, size);
    prepare(*strict);
  }
}

}  // namespace primal::fuzz
