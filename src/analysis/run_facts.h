// What findings() wants to know of a run directory.
#pragma once

#include "analysis/findings.h"
#include "run/run.h"

namespace primal::analysis {

RunFacts facts_of(const run::Run& run);

}  // namespace primal::analysis
