// bfloat16 numbers in memory, float32 in the arithmetic: conversions of rows.
#pragma once

#include <cstdint>

namespace primal::kernels {

/// Exact. from: the bits of bfloat16 numbers.
void widen_bfloat16(const uint16_t* from, int64_t count, float* to);

/// Rounds to nearest, ties to even; NaN stays NaN.
void narrow_to_bfloat16(const float* from, int64_t count, uint16_t* to);

}  // namespace primal::kernels
