// Known failure signatures of Primal-Attention, looked for in the figures of a run and said in plain words. No
// LibTorch.
#pragma once

#include <vector>

#include "analysis/finding.h"
#include "analysis/run_facts.h"

namespace primal::analysis {

/// Worst first. An empty list means that no known signature was found, not that all is well.
std::vector<Finding> findings(const RunFacts& facts);

}  // namespace primal::analysis
