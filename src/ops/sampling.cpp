#include "ops/sampling.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::ops {

namespace {

// Scalar rule of torch's integer linspace: the two halves count from the two ends.
int64_t linspace_entry(int64_t i, int64_t last, int64_t n) {
  const double step = static_cast<double>(last) / static_cast<double>(n - 1);
  return i < n / 2 ? static_cast<int64_t>(step * static_cast<double>(i))
                   : static_cast<int64_t>(static_cast<double>(last) - step * static_cast<double>(n - 1 - i));
}

// PyTorch 1.6 - 1.13 wrote 8 entries at a time as two groups of 4, each from a base already cut to an integer.
int64_t legacy_entry(int64_t i, int64_t last, int64_t n) {
  const double step = static_cast<double>(last) / static_cast<double>(n - 1);
  if (i >= n - n % 8) return linspace_entry(i, last, n);
  const double base = static_cast<double>(linspace_entry(i - i % 4, last, n));
  return static_cast<int64_t>(base + static_cast<double>(i % 4) * step);
}

int64_t entry(int64_t i, int64_t last, int64_t n, Sampling sampling) {
  switch (sampling) {
    case Sampling::linspace:
      return linspace_entry(i, last, n);
    case Sampling::legacy:
      return legacy_entry(i, last, n);
    case Sampling::exact:
      break;
  }
  return i * last / (n - 1);
}

at::Tensor to_tensor(const std::vector<int64_t>& values, at::Device device) {
  return at::tensor(values, at::kLong).to(device).unsqueeze(0);
}

// Position of the rank-th token that is not padded. ranks: [B, m]
at::Tensor position_of_rank(const at::Tensor& padded, const at::Tensor& ranks) {
  const at::Tensor count = padded.logical_not().to(at::kLong).cumsum(1);
  return at::searchsorted(count, ranks + 1).clamp_max_(std::max<int64_t>(padded.size(1) - 1, 0));
}

at::Tensor length_of(const at::Tensor& padded) { return padded.logical_not().sum(1); }

// i * (length - 1) / (n - 1), rounded down, for lengths [B] -> [B, n]
at::Tensor even_ranks(const at::Tensor& lengths, int64_t n) {
  const at::Tensor last = (lengths - 1).clamp_min(0).unsqueeze(1);
  const at::Tensor product = at::arange(n, lengths.options()) * last;
  return product.div(std::max<int64_t>(n - 1, 1), "floor");
}

// Rounding in double is done as the rule says, length by length.
at::Tensor rounded_ranks(const at::Tensor& lengths, int64_t n, Sampling sampling) {
  const at::Tensor on_cpu = lengths.cpu();
  std::vector<at::Tensor> rows;
  for (int64_t b = 0; b < on_cpu.size(0); ++b) {
    rows.push_back(to_tensor(even_positions(on_cpu[b].item<int64_t>(), n, sampling), lengths.device()));
  }
  return rows.empty() ? at::empty({0, n}, lengths.options()) : at::cat(rows);
}

}  // namespace

Sampling sampling_of(const std::string& name) {
  if (name == "exact") return Sampling::exact;
  if (name == "linspace") return Sampling::linspace;
  if (name == "legacy") return Sampling::legacy;
  TORCH_CHECK_VALUE(false, "primal_attention: sampling must be exact, linspace or legacy, got \"", name, "\"");
}

std::vector<int64_t> even_positions(int64_t length, int64_t n, Sampling sampling) {
  const int64_t last = std::max<int64_t>(length - 1, 0);
  std::vector<int64_t> positions(static_cast<size_t>(n), 0);
  if (n == 1) return positions;
  for (int64_t i = 0; i < n; ++i) {
    positions[static_cast<size_t>(i)] = entry(i, last, n, sampling);
  }
  return positions;
}

at::Tensor sample_positions(int64_t tokens, const std::optional<at::Tensor>& padded, int64_t n, Sampling sampling,
                            at::Device device) {
  if (!padded) return to_tensor(even_positions(tokens, n, sampling), device);
  const at::Tensor lengths = length_of(*padded);
  return position_of_rank(*padded,
                          sampling == Sampling::exact ? even_ranks(lengths, n) : rounded_ranks(lengths, n, sampling));
}

at::Tensor aligned_positions(int64_t queries, const std::optional<at::Tensor>& query_padded, int64_t keys,
                             const std::optional<at::Tensor>& key_padded, at::Device device) {
  const auto longs = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor query_length = query_padded ? length_of(*query_padded) : at::full({1}, queries, longs);
  const at::Tensor key_length = key_padded ? length_of(*key_padded) : at::full({1}, keys, longs);
  at::Tensor rank = query_padded ? (query_padded->logical_not().to(at::kLong).cumsum(1) - 1).clamp_min_(0)
                                 : at::arange(queries, longs).unsqueeze(0);
  rank = rank * (key_length - 1).clamp_min(0).unsqueeze(1);
  rank = rank.div((query_length - 1).clamp_min(1).unsqueeze(1), "floor");
  if (!key_padded) return rank;
  return position_of_rank(*key_padded, rank.expand({key_padded->size(0), queries}).contiguous());
}

at::Tensor take_rows(const at::Tensor& x, const at::Tensor& positions) {
  if (x.size(1) == 0) return at::zeros({x.size(0), positions.size(1), x.size(2)}, x.options());
  if (positions.size(0) == 1) return x.index_select(1, positions[0]);
  return x.gather(1, positions.unsqueeze(-1).expand({-1, -1, x.size(2)}));
}

at::Tensor take_rows_backward(const at::Tensor& grad, const at::Tensor& positions, int64_t tokens) {
  at::Tensor result = at::zeros({grad.size(0), tokens, grad.size(2)}, grad.options());
  if (tokens == 0) return result;
  if (positions.size(0) == 1) return result.index_add_(1, positions[0], grad);
  return result.scatter_add_(1, positions.unsqueeze(-1).expand({-1, -1, grad.size(2)}), grad);
}

}  // namespace primal::ops
