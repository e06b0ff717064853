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

namespace primal::train {

/// Scores that do not make the output stay as they are, and so does q_proj and k_proj. `grams`: of the layer.
void put_output_directions(PrimalAttentionImpl& layer, const ScoreGrams& grams,
                           const std::vector<LayerSample>& samples);

}  // namespace primal::train
