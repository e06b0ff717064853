// How far weights are from a kernel SVD of what their layer sees.
//
//   const auto factors = ksvd_factors(layer, input, padding);
//   const KsvdConditions own = ksvd_conditions(*factors, {layer.we, layer.wr, layer.lambda()});
#pragma once

#include <array>

#include "analysis/ksvd_factors.h"
#include "analysis/ksvd_measures.h"

namespace primal::analysis {

/// Of any dtype. we, wr: [H, n, s] or [H, p, s], with B in front if each sample has its own; lambda: [H, s], positive
struct KsvdWeights {
  at::Tensor we, wr, lambda;
};

struct KsvdConditions {
  std::array<at::Tensor, kMeasures> values;  ///< [B, H] float64; those of the layer are the same for all its heads
  /// What the conditions say We and Wr should be: [B, H, n, s]
  at::Tensor wanted_we, wanted_wr;
  /// What they are: [1 or B, H, n, s]
  at::Tensor we, wr;

  const at::Tensor& of(Measure measure) const { return values[index_of(measure)]; }
};

KsvdConditions ksvd_conditions(const KsvdFactors& factors, const KsvdWeights& weights);

/// |a - wanted a| and |b - wanted b| over |a| and |b|, both together: matrices [..., n, s] -> [...]
at::Tensor relative_residual(const at::Tensor& a, const at::Tensor& wanted_a, const at::Tensor& b,
                             const at::Tensor& wanted_b);

}  // namespace primal::analysis
