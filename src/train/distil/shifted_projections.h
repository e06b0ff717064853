// Queries and keys with a constant added.
//
// The cosine map keeps the direction of q alone: no score can be the same for all tokens, as the outputs of softmax
// nearly are where its weights are. With a constant vector c in all queries and keys (q + c)(k + c) is about c^2 + q k,
// the first two terms of exp(q k) but for a factor. A direction in which queries and keys are small anyway disturbs
// least.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "primal/attention.h"
#include "train/distil/layer_samples.h"

namespace primal::train {

class ShiftedProjections {
 public:
  /// Of the layer as it is.
  ShiftedProjections(const PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples);

  /// Without biases there is nothing to shift.
  bool can_shift() const { return direction_.defined(); }
  /// Sets the biases: those of the beginning and a vector of `size` times the one with c^2 = sqrt(d), as softmax
  /// divides.
  void shift(PrimalAttentionImpl& layer, double size) const;

 private:
  at::Tensor q_bias_, k_bias_;  // as they were
  at::Tensor direction_{};      // [D]; undefined: no biases
};

}  // namespace primal::train
