#include "analysis/ksvd_measures.h"

#include <limits>

namespace primal::analysis {

const std::array<MeasureFacts, kMeasures>& measure_facts() {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  static constexpr std::array<MeasureFacts, kMeasures> kFacts{{
      {Measure::residual, "residual", "conditions: residual", 0},
      {Measure::residual_e, "residual_e", "  of We", 0},
      {Measure::residual_r, "residual_r", "  of Wr", 0},
      {Measure::direction, "direction", "  with Lambda free", 0},
      {Measure::ineffective, "ineffective", "weights without effect", 0},
      {Measure::forward, "forward", "scores: residual", 0},
      {Measure::overlap_e, "overlap_e", "overlap of columns, e", 0},
      {Measure::overlap_r, "overlap_r", "overlap of columns, r", 0},
      {Measure::subspace_e, "subspace_e", "in the best s, e", 1},
      {Measure::subspace_r, "subspace_r", "in the best s, r", 1},
      {Measure::energy, "energy", "energy of the best s", 1},
      {Measure::rank_correlation, "rank_correlation", "1/Lambda beside gain", 1},
      {Measure::lambda_ratio, "lambda_ratio", "1/Lambda over sigma", 1},
      {Measure::balance, "balance", "J over its parts", 0},
      {Measure::largest_part, "largest_part", "largest part of J", kNothing},
  }};
  return kFacts;
}

}  // namespace primal::analysis
