// Scores that could stand in the place of a layer's own.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "analysis/ksvd_factors.h"

namespace primal::analysis {

/// What e and r become, per head. All but none have the norm of the layer's own scores, and are turned as near to them
/// as a rotation of the columns can, so that the map behind the scores reads what it knows.
enum class InsteadOfScores {
  best_pairs,         ///< the s pairs of largest singular values
  random_directions,  ///< of random weights
  none,               ///< zeros
};

/// What features are multiplied by: e = phi(q) we, r = phi(k) wr.
struct KsvdDirections {
  at::Tensor we, wr;  ///< [H, p, s] float64
};

/// factors: of one sample; own: the layer's. The generator is used for random directions alone.
KsvdDirections other_directions(const KsvdFactors& factors, const KsvdDirections& own, InsteadOfScores instead,
                                at::Generator& generator);

}  // namespace primal::analysis
