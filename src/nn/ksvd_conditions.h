// How far a layer is from a stationary point of the KSVD objective, as a term of a loss.
#pragma once

#include <optional>

#include "primal/attention.h"

namespace primal::nn {

/// rho_e^2 + rho_r^2, the mean over the heads of
///   |We - F Phi_k^T R L|^2 / |We|^2 + |Wr - F Phi_q^T E L|^2 / |Wr|^2,  L = Lambda / N,
/// with f(X) = F (the identity where nothing is sampled) and the scores E, R of self-attention; for
/// Trace::data_dependent with We|X, Wr|X in place of We, Wr and without F. It is 0 at stationary points alone, whatever
/// the size of the weights. input: [B, N, D], padding: [B, N] bool. Reduced over the batch like J^2: per_sample -> the
/// mean, none -> [B]; batch_mean
/// -> the conditions of the mean of J, a mean over the batch inside the norms. float32, or float64.
///
/// Differentiable in the input and in all parameters that scores depend on. The operator of the layer does not give
/// scores away, so they are made again: two projections, cost 4 N D^2 + 8 N D s for forward, linear in N as the layer,
/// with 4 N D + 2 N H s numbers kept for the backward pass.
torch::Tensor ksvd_conditions(const PrimalAttentionImpl& layer, const torch::Tensor& input,
                              const std::optional<torch::Tensor>& padding, KsvdReduction reduction);

}  // namespace primal::nn
