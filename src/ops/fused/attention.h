// primal::attention and its gradient in fused kernels: self-attention, cosine feature map, float32, on the CPU.
#pragma once

#include "ops/attention/arguments.h"
#include "ops/fused/attention_gradients.h"

namespace primal::ops::fused {

/// Whether these arguments can take this path, by dtype and options alone (also for tensors without data).
/// PRIMAL_FUSED=0 in the environment makes every call take the ATen path.
bool has_kernel(const AttentionArguments& arguments);
/// The same for a real call: on the CPU, with at least one token.
bool can_run(const AttentionArguments& arguments);

struct AttentionForward {
  at::Tensor out;         // [B, N, D]
  at::Tensor le, lr, tr;  // [B]
  at::Tensor projected;   // [B, N, 2D]: q and k, if they are to be kept
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
