// Dropout that stores no mask: the backward pass draws the same numbers again.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace primal::ops {

/// x with each entry dropped with probability p, the others scaled by 1 / (1 - p); x itself if not training or p = 0.
/// Takes one number from LibTorch's generator. LibTorch's own draws its numbers one after another, which costs ten to
/// forty times as much; it serves for other devices and dtypes.
at::Tensor dropout(const at::Tensor& x, double p, bool training);

/// The number that dropout takes from LibTorch's generator.
int64_t draw_dropout_seed();

}  // namespace primal::ops
