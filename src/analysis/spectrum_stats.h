// Numbers that sum up a spectrum. No LibTorch.
#pragma once

#include <span>

namespace primal::analysis {

/// How many directions a set of singular values really uses: exp of the entropy of sigma_i / sum(sigma) (Roy and
/// Vetterli, "The effective rank", 2007). Between 1 and the number of values; 0 if all are zero or there are none.
/// Throws primal::Error if one is negative or not finite.
double effective_rank(std::span<const double> singular_values);

}  // namespace primal::analysis
