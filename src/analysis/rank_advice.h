// The rank that each layer of a trained run needs, as a setting for the next one. No LibTorch.
#pragma once

#include <string>
#include <vector>

#include "run/matrix_facts.h"

namespace primal::analysis {

struct RankAdvice {
  double share = 0;            ///< of the energy, sum of sigma^2
  std::vector<int64_t> ranks;  ///< of each layer: the smallest s that keeps the share, mean over heads and samples
  std::string setting;         ///< "model.rank=12,7", or one number where all layers need the same
};

/// One entry per share of run::kEnergyShares; none if a layer has no spectrum.
std::vector<RankAdvice> rank_advice(const std::vector<run::MatrixFacts>& layers);

/// What the numbers do not say: layers that would need more pairs than a primal layer has.
std::vector<std::string> rank_notes(const std::vector<run::MatrixFacts>& layers);

}  // namespace primal::analysis
