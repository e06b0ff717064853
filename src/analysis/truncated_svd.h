// The largest singular values of a matrix that is held in memory, and their vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace primal::analysis {

/// matrix = u diag(values) v^T, as far as it goes.
struct TruncatedSvd {
  at::Tensor u, values, v;  // [n, rank], [rank] falling, [m, rank]
};

/// matrix: [n, m], float64; rank: 1 to min(n, m). Large matrices of which few values are wanted are searched from
/// random vectors (block Krylov, the same ones every time) until every pair fits to 1e-10 of the largest value; others,
/// and those where that takes too long, are decomposed as a whole.
TruncatedSvd truncated_svd(const at::Tensor& matrix, int64_t rank);

/// The first entry of largest size in each column of `a` becomes positive; b changes its signs with it.
void fix_signs(at::Tensor& a, at::Tensor& b);

}  // namespace primal::analysis
