// What is measured of a layer that is said to hold a kernel SVD. No LibTorch.
//
// Per head and sample, with features Phi_q, Phi_k [N, p], sampled rows F [n, p] (the identity where nothing is
// sampled), scores E = Phi_q F^T We, R = Phi_k F^T Wr [N, s] and L = Lambda / N, which weighs sums where the loss takes
// means:
//   conditions   We = F Phi_k^T R L,  Wr = F Phi_q^T E L
//   whence       K R L = E,  K^T E L = R  with the kernel matrix K = (Phi_q F^T) (Phi_k F^T)^T [N, N]:
// E and R are pairs of singular directions of K, and 1 / L their singular values. docs/method.md says more.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace primal::analysis {

enum class Measure {
  residual,     ///< |We - F Phi_k^T R L| and its twin over |We| and |Wr|, both sides together
  residual_e,   ///< of We alone
  residual_r,   ///< of Wr alone
  direction,    ///< both, with the best positive L of each column: directions without scale
  ineffective,  ///< share of |We|^2 + |Wr|^2 outside the range of F, which no score ever sees
  forward,      ///< |K R L - E| and |K^T E L - R| over |E| and |R|
  overlap_e,    ///< mean square cosine of two columns of E
  overlap_r,
  subspace_e,  ///< mean square cosine of the angles between span(E) and the best s left singular vectors of K
  subspace_r,
  energy,            ///< share of the energy of the best s pairs that K keeps between span(E) and span(R)
  rank_correlation,  ///< of 1 / L with the gain e^T K r / |e| |r| of each pair of columns
  lambda_ratio,      ///< median of 1 / L over the singular values of K, both falling
  balance,           ///< |J| / (Le + Lr + |Tr|) of the layer, all heads together
  largest_part,      ///< the largest of Le, Lr and |Tr| of the layer
};

struct MeasureFacts {
  Measure measure;
  std::string_view key;    ///< in JSON
  std::string_view label;  ///< in tables
  double of_ksvd;          ///< what an exact kernel SVD has; NaN: nothing in particular
};

inline constexpr std::size_t kMeasures = 15;
/// In the order of the enumeration.
const std::array<MeasureFacts, kMeasures>& measure_facts();

/// One value of each measure; NaN where it is not defined.
using MeasureValues = std::array<double, kMeasures>;

inline constexpr std::size_t index_of(Measure measure) { return static_cast<std::size_t>(measure); }

}  // namespace primal::analysis
