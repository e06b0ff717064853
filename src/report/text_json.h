// What the page shows of single tokens and of texts that a model wrote, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/text_details.h"

namespace primal::report {

/// Adds byPlace, mostSurprising, leastSurprising and samples to the JSON of a test; each may be empty. In bits.
void add_text_details(nlohmann::json& test, const run::TextDetails& details);

}  // namespace primal::report
