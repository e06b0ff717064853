// What is odd about series and worth knowing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/series/time_series.h"

namespace primal::tasks {

/// "a, b, c and 4 more".
std::string some_of(std::span<const std::string> names, size_t most);

/// Channels that are constant, have no value at all, or have a name that says they are no measurement. Of series that
/// have not been scaled yet.
std::vector<std::string> channel_notes(const data::TimeSeriesSet& set);

/// Nothing if none of the series was cut. `which`: "validation series", "series".
std::optional<std::string> cut_note(int64_t cut, int64_t cases, int64_t tokens, const std::string& which);
/// Of the series that are longer than `tokens`.
std::optional<std::string> cut_note(const data::TimeSeriesSet& set, int64_t tokens, const std::string& which);

}  // namespace primal::tasks
