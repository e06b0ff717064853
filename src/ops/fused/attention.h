// primal::attention and its gradient in fused kernels: self-attention, cosine feature map, on the CPU; a memory that
// fades if the channels of a head do so together. The arithmetic
// is float32; bfloat16 tokens are widened tile by tile, and what is kept for the backward pass is bfloat16 again.
#pragma once

#include "ops/attention/arguments.h"
#include "ops/fused/attention_gradients.h"

namespace primal::ops::fused {

/// Whether tokens of this dtype can take this path: float32, and bfloat16 unless the CPU multiplies such numbers
/// itself, which ATen makes use of. PRIMAL_FUSED=0 in the environment makes every call take the ATen path,
/// PRIMAL_FUSED=1 none that has a kernel.
bool has_kernel_for(at::ScalarType dtype);
/// Whether these arguments can, by dtypes and options alone (also for tensors without data).
bool has_kernel(const AttentionArguments& arguments);
/// The same for a real call: on the CPU, with at least one token.
bool can_run(const AttentionArguments& arguments);

struct AttentionForward {
  at::Tensor out;         // [B, N, D]
  at::Tensor le, lr, tr;  // [B]
  at::Tensor projected;   // [B, N, 2D]: q and k, if they are to be kept; of each token alone where they fade
};

AttentionForward attention(const AttentionArguments& arguments, bool keep_projected);

struct AttentionBackward {
  at::Tensor query;  // [B, N, D]
  ParameterGradients parameters;
};

/// projected: what the forward pass kept, or undefined: then it is computed again.
AttentionBackward attention_backward(const AttentionArguments& arguments, const at::Tensor& out_gradient,
                                     const TermGradients& terms, const at::Tensor& projected);

}  // namespace primal::ops::fused
