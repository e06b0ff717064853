// Which rows of X make the data-dependent weights, and which key row stands beside a query row.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace primal::ops {

/// How n positions are spread over a sequence.
enum class Sampling {
  exact,     ///< floor(i * (length - 1) / (n - 1)), in integers
  linspace,  ///< integer linspace of PyTorch >= 2.0: the same but for rounding of the double step
  legacy,    ///< integer linspace of PyTorch 1.6 to 1.13: up to one position lower
};

/// "exact", "linspace" or "legacy"; a ValueError otherwise.
Sampling sampling_of(const std::string& name);

/// n positions spread evenly over 0 .. length-1. Positions repeat when n > length.
std::vector<int64_t> even_positions(int64_t length, int64_t n, Sampling sampling);

/// The sampled positions of each sample. padded: [B, N] bool; only tokens that are not padded are taken.
/// -> [B, n] int64; [1, n] when there is no mask and the positions are the same for all.
at::Tensor sample_positions(int64_t tokens, const std::optional<at::Tensor>& padded, int64_t n, Sampling sampling,
                            at::Device device);

/// For cross-attention: the key position beside each query position, [B or 1, Nq] int64. The ranks of the queries are
/// spread evenly over those of the keys, so that two equal sequences give 0, 1, 2, ...
at::Tensor aligned_positions(int64_t queries, const std::optional<at::Tensor>& query_padded, int64_t keys,
                             const std::optional<at::Tensor>& key_padded, at::Device device);

/// Rows of x at these positions, and the gradient for x. x: [B, N, D], positions: [B or 1, m] -> [B, m, D]
at::Tensor take_rows(const at::Tensor& x, const at::Tensor& positions);
at::Tensor take_rows_backward(const at::Tensor& grad, const at::Tensor& positions, int64_t tokens);

}  // namespace primal::ops
