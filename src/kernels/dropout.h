// Dropout with a counter-based generator: element i of a stream is dropped or kept by a hash of (seed, i). The backward
// pass draws the same numbers again, so no mask is stored, and any split of the work gives the same result.
#pragma once

#include <cstdint>

namespace primal::kernels {

/// out[i] = in[i] * scale if element first + i of stream `seed` is kept, else 0. An element is kept if its 32-bit hash
/// is not below `threshold`, so that it is dropped with probability threshold / 2^32. in and out may be the same.
void dropout(const float* in, float* out, int64_t count, uint64_t seed, int64_t first, uint32_t threshold, float scale);

}  // namespace primal::kernels
