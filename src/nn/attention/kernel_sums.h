// Sums over the keys of a kernel that is a product of features: linear in the number of tokens.
#pragma once

#include <ATen/core/Tensor.h>

namespace primal::nn {

/// sum over all j of (a_i . b_j) v_j. a: [B, H, N, f]; b: [B, H, M, f]; v: [B, H, M, e] -> [B, H, N, e]
at::Tensor sums_over_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& v);

/// The same over j <= i only, with M = N. In chunks of tokens: no N x N matrix and no sum per token is kept.
/// before: sum over j of b_j v_j^T of the tokens before these, [B, H, f, e], which becomes that after them; undefined:
/// there are none; null: nobody asks.
at::Tensor sums_over_past(const at::Tensor& a, const at::Tensor& b, const at::Tensor& v, at::Tensor* before = nullptr);

/// v with a last channel of ones: its sums are those of the kernel alone. [.., d] -> [.., d + 1]
at::Tensor with_ones(const at::Tensor& v);

/// The sums of with_ones(v), divided by the last channel plus more: means of v. Where there is nothing to divide by,
/// the mean is 0. [.., d + 1] -> [.., d]
at::Tensor means_of(const at::Tensor& sums, const at::Tensor& more = {});

}  // namespace primal::nn
