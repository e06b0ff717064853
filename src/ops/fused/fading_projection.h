// q and k of a causal attention with a memory that fades. One time scale per head means that the sums cannot be taken
// of the tokens before the projection, as the running mean can: all tokens are projected, then the projections fade.
#pragma once

#include "ops/attention/arguments.h"

namespace primal::ops::fused {

/// The fading sums themselves, not the mean: the cosine map takes no notice of a vector's length, so what the sums of a
/// head would be divided by changes neither results nor gradients.
class FadingProjection {
 public:
  /// alone: [B, N, 2D] float32, q and k of each token alone, 0 at tokens that are left out.
  FadingProjection(const AttentionArguments& a, at::Tensor alone);

  /// What a backward pass wants to be kept: the sums cost a scan of it, while it costs a product with the weights, and
  /// the gradient of log_scale needs it.
  const at::Tensor& alone() const { return alone_; }
  const at::Tensor& sums() const { return sums_; }

  struct Gradients {
    at::Tensor alone;      // [B, N, 2D]
    at::Tensor log_scale;  // [G] float64
  };
  Gradients backward(const at::Tensor& sums_gradient) const;

  /// Whether heads share time scales, so that one number stands below all sums of a head.
  static bool serves(const AttentionArguments& a) {
    return !a.log_scale || a.we.sym_size(0) % a.log_scale->sym_size(0) == 0;
  }

 private:
  OptionalTensor padding_;
  at::Tensor log_scale_;  // [1, 1, 2G] float64: of q, then of k
  at::Tensor ones_;       // [1, 1, 2D]
  at::Tensor alone_, sums_;
};

}  // namespace primal::ops::fused
