// We, Wr and Lambda of a primal layer from the kernel SVD of the tokens that it sees.
//
// Scores are E = A We and R = B Wr, with A = phi(Q) and B = phi(K), or with data-dependent weights A = phi(Q) f(X)^T
// and B = phi(K) f(X)^T. One pair of weights serves all sequences, so J of the layer is a mean over them, and with the
// mean matrices C_a of A^T A and C_b of B^T B it is stationary where We = C_b Wr Lambda and Wr = C_a We Lambda. With
// C_a = L_a L_a^T, C_b = L_b L_b^T and L_a^T L_b = U S V^T that is We = L_b V, Wr = L_a U and Lambda = 1 / S, whatever
// the length of a pair. A single sequence of one head gets the singular directions of its kernel matrix.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "primal/attention.h"
#include "train/distil/layer_samples.h"

namespace primal::train {

/// Means over sequences and their tokens, double. [H, m, m]; m: rows of We.
struct ScoreGrams {
  at::Tensor a, b;
};

ScoreGrams score_grams(const PrimalAttentionImpl& layer, const std::vector<LayerSample>& samples);

/// The first s pairs, each as long as those of a fresh layer. Where there are fewer than s, the rest stays as it is.
/// -> S, [H, pairs] falling
at::Tensor put_kernel_pairs(PrimalAttentionImpl& layer, const ScoreGrams& grams);

/// The Lambda that brings the share of each pair in the mean of J to 0 with We and Wr as they are; a small one where
/// <We, Wr> of the pair is not positive.
void put_lambda(PrimalAttentionImpl& layer, const ScoreGrams& grams);

}  // namespace primal::train
