// torch.ops.primal.linear_cross_entropy from C++, through the dispatcher: the cross entropy of the logits
// hidden weight^T, of which only a block of tokens exists at any time.
//
//   const auto [sum, nll] = ops::linear_cross_entropy({.hidden = hidden, .weight = weight, .targets = targets});
//   (sum / tokens).backward();
//
// T tokens, D width, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace primal::ops {

struct LinearCrossEntropy {
  at::Tensor hidden;            // [T, D] float32, float64 or bfloat16 (then all is computed in float32)
  at::Tensor weight;            // [V, D] as hidden; float32 and bfloat16 may stand beside each other
  at::Tensor targets;           // [T] int64, in [0, V) or ignore_index
  int64_t ignore_index = -100;  // tokens with this target count for nothing
  double label_smoothing = 0;   // this share of the target is spread evenly over the vocabulary
};

struct LinearCrossEntropyLoss {
  at::Tensor sum;  // []: the loss with label smoothing, summed over the tokens; float64 or float32
  at::Tensor nll;  // [T]: -log p(target), without label smoothing and without gradient; 0 where ignored
};

LinearCrossEntropyLoss linear_cross_entropy(const LinearCrossEntropy& arguments);

/// Throws a ValueError (shape, device, number) or a TypeError (dtype) that gives both values. For real and symbolic
/// sizes; the values of the targets are checked by the pass.
void check_linear_cross_entropy(const LinearCrossEntropy& arguments);

}  // namespace primal::ops
