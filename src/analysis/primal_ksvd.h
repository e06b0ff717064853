// Kernel SVD where the feature map is finite: the cost is linear in the rows of both tables, and no matrix of kernel
// values is made.
#pragma once

#include "analysis/kernel_svd_model.h"

namespace primal::analysis {

/// With features Phi [n, p], Psi [m, p]: K = Phi Psi^T, so two square roots of the p x p matrices Phi^T Phi and Psi^T
/// Psi have its singular values in their product. `svd` has everything but the last two groups of its fields.
/// columns.values is undefined for one table. Throws Error if the numbers are too large for the kernel.
void solve_primal(KernelSvd& svd, const Rows& rows, const Rows& columns, int64_t rank, at::ScalarType dtype);

}  // namespace primal::analysis
