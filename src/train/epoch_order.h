// The order in which an epoch visits the training examples.
#pragma once

#include <cstdint>
#include <vector>

namespace primal::train {

/// A permutation of 0 .. examples - 1 that depends on seed and epoch alone, the same on every machine: to resume in the
/// middle of an epoch nothing has to be stored.
std::vector<int64_t> epoch_order(int64_t examples, int64_t seed, int64_t epoch);

}  // namespace primal::train
