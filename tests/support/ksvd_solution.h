// Weights that solve the kernel SVD of one sequence, from the kernel matrix itself.
#pragma once

#include <cstdint>

#include "primal/attention.h"

namespace primal::tests {

/// Of each head of a self-attention with the cosine map, in double. K is made as a matrix.
struct KernelMatrix {
  torch::Tensor phi_q, phi_k;  ///< [H, N, p]
  torch::Tensor f;             ///< [H, n, p]; undefined: the identity
  torch::Tensor k;             ///< [H, N, N]
};

/// x: [1, N, D], nothing padded
KernelMatrix kernel_matrix(const PrimalAttentionImpl& layer, const torch::Tensor& x);

/// Sets We, Wr and lam of a double_layer to the pairs first .. first + s - 1 of the kernel SVD of x: We = F Phi_k^T V,
/// Wr = F Phi_q^T U, Lambda = N / S. -> S, [H, s]
torch::Tensor set_to_kernel_svd(PrimalAttentionImpl& layer, const torch::Tensor& x, int64_t first = 0);

}  // namespace primal::tests
