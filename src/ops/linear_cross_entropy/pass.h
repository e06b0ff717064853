// The passes of linear_cross_entropy, block of tokens by block of tokens.
#pragma once

#include "ops/linear_cross_entropy/linear_cross_entropy.h"

namespace primal::ops {

/// Which gradients of the sum the pass makes on its way.
struct WantedGradients {
  bool hidden = false, weight = false;
  bool any() const { return hidden || weight; }
};

struct LinearCrossEntropyPass {
  at::Tensor sum, nll;
  at::Tensor hidden_gradient, weight_gradient;  // as hidden and weight; undefined where not wanted
};

/// Logits of a block are turned into their gradient where they stand, so that gradients cost three products of the
/// size of the logits; a backward pass that makes the logits again would need a fourth.
/// Throws a ValueError for a target outside the vocabulary.
LinearCrossEntropyPass linear_cross_entropy_pass(const LinearCrossEntropy& arguments, WantedGradients wanted);

}  // namespace primal::ops
