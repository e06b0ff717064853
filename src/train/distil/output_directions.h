// We and Wr of a primal layer from the SVD of the outputs that it shall have.
//
// With the scores of many more pairs of the kernel SVD than the layer has, the outputs are explained better. What the
// scores of one head then add to them is Z = A P G, with features A, pairs P and weights G of least squares; the first
// s left singular vectors of Z are the s scores of that head that keep most of it.
#pragma once

#include <vector>

#include "primal/attention.h"
#include "train/distil/kernel_pairs.h"
#include "train/distil/layer_samples.h"
#include "train/distil/least_squares.h"

namespace primal::train {

class OutputDirections {
 public:
  /// grams: of the layer, whose q_proj and k_proj are as they shall be.
  OutputDirections(PrimalAttentionImpl& layer, ScoreGrams grams, const std::vector<LayerSample>& samples);

  /// Sets We, Wr and Lambda; of scores that do not make the output they stay. ridge: of the least squares.
  void put(PrimalAttentionImpl& layer, double ridge) const;

 private:
  ScoreGrams grams_;
  PrimalAttention wide_;  // the same layer with more pairs
  LeastSquares sums_;
};

}  // namespace primal::train
