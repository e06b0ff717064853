// The random directions of FAVOR+ (Choromanski et al., ICLR 2021): orthogonal in blocks, as long as Gaussian vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace primal::nn {

/// [features, width] float64, draw number `draw` of `seed`, the same on every machine. Rows of a block of `width` are
/// orthogonal and point anywhere with the same chance; each has the length of a Gaussian vector of its own. Published
/// code leaves out the signs that the second needs, and its kernel is biased.
at::Tensor random_directions(int64_t features, int64_t width, uint64_t seed, uint64_t draw);

}  // namespace primal::nn
