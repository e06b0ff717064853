// The head of a .ts file: the directives before @data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/series/line_source.h"

namespace primal::data {

struct TsHeader {
  std::string problem_name;
  std::optional<bool> univariate, equal_length;
  std::optional<int64_t> dimensions, series_length;
  int64_t dimensions_line = 0;  ///< 0: there is none
  bool has_labels = false, has_targets = false;
  std::vector<std::string> class_names;
};

/// What to do instead, for a file with time stamps.
inline constexpr std::string_view kNoTimeStamps =
    "series without time stamps; write series with times as CSV with a time column";

/// Reads up to and including @data. Directives may be in upper or lower case; unknown ones are passed over.
TsHeader read_ts_header(LineSource& lines);

bool is_ts_comment(std::string_view trimmed_line);

}  // namespace primal::data
