// score_proj and out_proj of a primal layer by least squares of the outputs that it shall have.
//
// The output is linear in the scores u_h of the heads: sum over h of Wo_h Ws u_h + b, with one map Ws [d, k] for all
// heads and k = 2 s (s where the output is made of e or of r alone). All scores together give free weights G_h [D, k]
// by least squares. With k <= d they are of the form Wo_h Ws, whatever Ws, and that is all; else the best Ws is looked
// for, first by an SVD of all G_h, then by least squares of Wo and Ws in turn.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "primal/attention.h"
#include "train/distil/layer_samples.h"
#include "train/distil/least_squares.h"

namespace primal::train {

/// y on the scores that make the output, [H k] of each token: those of a head lie side by side, e before r.
LeastSquares score_sums(PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples);

/// Sets both maps and their biases; the scores stay as they are. Padded tokens do not count. The ridge is the one with
/// which the sequences held out are explained best. -> what is explained of them
double fit_output(PrimalAttentionImpl& layer, const LayerSamples& samples);

/// 1 - sum of squares of (y - output of the layer) / sum of squares of (y - mean of y), over the tokens that are not
/// padded. Below 0 if the mean is better.
double explained_share(PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples);

}  // namespace primal::train
