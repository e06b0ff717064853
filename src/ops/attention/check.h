// Shape and dtype checks of the attention operators, for real and for symbolic sizes.
#pragma once

#include "ops/attention/arguments.h"

namespace primal::ops {

/// Throws a ValueError (shape, option, device) or a TypeError (dtype) that gives both values.
void check_attention(const AttentionArguments& arguments);

/// The same for the state of a causal layer: q_sum, k_sum [B, D] float64, count [B] int64.
void check_step(const AttentionArguments& arguments, const at::Tensor& q_sum, const at::Tensor& k_sum,
                const at::Tensor& count);

/// The dtype of Le, Lr and Tr: sums over the sequence are kept in float32 when the tokens are bfloat16.
at::ScalarType accumulate_dtype(at::ScalarType dtype);

}  // namespace primal::ops
