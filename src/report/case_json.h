// What the page shows of single cases and groups of them, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/case_details.h"

namespace primal::report {

/// Adds referenceLines, groups, pictures and texts to the JSON of a test; each may be empty.
void add_cases(nlohmann::json& test, const run::CaseDetails& details);

}  // namespace primal::report
