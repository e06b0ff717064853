// One pass of a primal layer, reduced to matrices whose size does not depend on the number of tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "primal/attention.h"

namespace primal::analysis {

/// Features of a head beyond this make matrices of p x p that take too long.
inline constexpr int64_t kMostHeadFeatures = 1024;

/// All float64. B: the samples that have a token.
struct KsvdFactors {
  at::Tensor q{}, k{};   ///< [B, H, p, p]: Phi_q = Q_q q and Phi_k = Q_k k with orthonormal columns in Q_q and Q_k
  at::Tensor f{};        ///< [B, H, n, p]: the sampled rows in the kernel; undefined: the identity
  at::Tensor f_range{};  ///< [B, H, n, min(n, p)]: orthonormal columns that span the range of f, others zero
  at::Tensor sampled{};  ///< [B, H, n, p]: sampled rows that make weights but are not in the kernel, where the trace
                         ///< of the objective is of the made weights; else undefined
  at::Tensor tokens{};   ///< [B]
  at::Tensor core{};     ///< [B, H, p, p]: q F^T F k^T; the kernel matrix is Q_q core Q_k^T
  at::Tensor left{}, right{};    ///< [B, H, p, p]: its singular vectors, as columns
  at::Tensor singular_values{};  ///< [B, H, p], falling: those of the kernel matrix

  int64_t samples() const { return tokens.size(0); }
};

/// Cost and memory are linear in the tokens; samples are taken one by one. input: [B, N, D], padding: [B, N] bool.
/// Nothing if no sample has a token. Throws Error for more than kMostHeadFeatures features.
std::optional<KsvdFactors> ksvd_factors(const PrimalAttentionImpl& layer, const at::Tensor& input,
                                        const std::optional<at::Tensor>& padding = {});

/// All samples as one, whose kernel matrix is that of all their tokens. Throws Error where weights are made from rows
/// of a sample: those are of that sample alone.
KsvdFactors joined(const std::vector<KsvdFactors>& parts);

/// Largest singular values below this share of the first are rounding.
inline constexpr double kRounding = 1e-10;

/// Orthonormal columns that span those of x, zero columns for what is missing. x: [..., m, s] -> [..., m, min(m, s)]
at::Tensor orthonormal_columns(const at::Tensor& x);

}  // namespace primal::analysis
