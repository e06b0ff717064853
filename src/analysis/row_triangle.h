// A tall matrix reduced to its triangle: all that the products of it with small matrices can tell.
#pragma once

#include <ATen/core/Tensor.h>

namespace primal::analysis {

/// R of rows = Q R, in float64: |rows x| = |R x| for every x. Long matrices are taken in blocks, so that no second
/// matrix of their length is made. rows: [..., N, s] -> [..., min(N, s), s]
at::Tensor row_triangle(const at::Tensor& rows);

}  // namespace primal::analysis
