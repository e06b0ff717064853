// What the singular values of several matrices have in common. No LibTorch.
#pragma once

#include <span>
#include <vector>

#include "run/matrix_facts.h"

namespace primal::analysis {

/// Of one matrix, falling. Several may differ in their number: what is missing is 0.
using SingularValues = std::vector<double>;

/// exp of the entropy of sigma^2 / sum sigma^2: between 1 and their number, 0 if all are zero. It never feels where the
/// list ends. Throws Error, as all here do, if one of them is not finite or below 0.
double energy_rank(std::span<const double> singular_values);

/// Share of sum sigma^2 in the first 1, 2, ... `count` of them; a matrix of zeros is explained by any.
std::vector<double> explained_energy(std::span<const double> singular_values, size_t count);

/// The smallest number of pairs whose share is at least `share`. explained: rising to 1
int64_t rank_for(std::span<const double> explained, double share);

/// 1, 2, ..., count; from 32 on each is some 6 % above the one before. The last one is there.
std::vector<int64_t> shown_places(int64_t count);

/// At these places; ranks are of all places. matrices: at least one
run::MatrixCurves matrix_curves(const std::vector<SingularValues>& matrices, const std::vector<int64_t>& places,
                                bool with_deviations);

}  // namespace primal::analysis
