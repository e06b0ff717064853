// The page of `primal play`: episodes of an agent to look at.
#pragma once

#include <string>

#include "run/rollout_details.h"

namespace primal::report {

/// One HTML file that needs nothing else, offline: the animations of `details` with what they were asked for and what
/// they earned, and the charts of the report if there are returns for them. Throws Error if there is no robot or
/// nothing to show of it.
std::string play_page(const run::RolloutDetails& details, const std::string& title);

}  // namespace primal::report
