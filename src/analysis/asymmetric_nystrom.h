// Kernel SVD of the kernel values themselves: of all rows and columns, or of a sample of both (asymmetric Nystrom).
#pragma once

#include "analysis/kernel_svd_model.h"

namespace primal::analysis {

struct NystromOptions {
  int64_t rank = 1;
  double share = 1;         ///< of the rows and of the columns that are taken; 1: all, which is exact
  bool orthogonal = false;  ///< vectors of a sample are orthogonal among its rows only: make them so among all
  uint64_t seed = 0;        ///< of the sample
};

/// So many of n are a share of it; at least 1.
int64_t sample_size(int64_t n, double share);

/// To find `rank` orthogonal vectors, more than that are extended from a block of n x m: directions mix on the way.
int64_t extended_rank(int64_t rank, int64_t n, int64_t m);

/// Numbers from 0 to n - 1, rising, each equally likely. `purpose` tells samples of one seed apart.
at::Tensor sample_of(int64_t n, int64_t size, uint64_t seed, uint64_t purpose);

/// The block g [n', m'] of the sampled rows and columns, g = u diag(s) v^T, stands for K: sigma = s sqrt(n m / (n'
/// m')), and the features of any row are its kernel values with the sampled columns, times v / sqrt(m'). `svd` has
/// everything but the last two groups of its fields. For a matrix, the columns are the rows of its transpose. One table
/// is sampled once.
void solve_dual(KernelSvd& svd, const Rows& rows, const Rows& columns, const NystromOptions& options);

}  // namespace primal::analysis
