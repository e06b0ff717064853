// The files of a run directory, from their bytes. `file` is the name for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/run.h"

namespace primal::report {

/// One JSON object per line. A last line that a crash has cut off (no line feed, no valid JSON) is left out, and so are
/// lines of unknown kind, for the sake of later versions. A run that went back to a checkpoint repeats steps: the later
/// line holds.
Metrics parse_metrics(std::string_view text, const std::string& file);

Result parse_result(std::string_view text, const std::string& file);

std::vector<analysis::LayerFacts> parse_analysis(std::string_view text, const std::string& file);

}  // namespace primal::report
