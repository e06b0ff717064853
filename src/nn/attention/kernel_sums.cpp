#include "nn/attention/kernel_sums.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::nn {

namespace {

// The products inside a chunk cost a number per token and token of the chunk, the sums between chunks f e numbers per
// chunk: for heads of 32 to 64 channels both are about as large as the features themselves.
constexpr int64_t kSumChunk = 64;

// [B, H, N, f] -> [B, H, chunks, chunk, f], filled up with zeros, which add nothing to any sum.
at::Tensor cut_in_chunks(const at::Tensor& x, int64_t chunks, int64_t chunk) {
  const at::Tensor filled = at::constant_pad_nd(x, {0, 0, 0, chunks * chunk - x.size(2)});
  return filled.reshape({x.size(0), x.size(1), chunks, chunk, x.size(3)});
}

}  // namespace

at::Tensor sums_over_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& v) {
  return a.matmul(b.transpose(-1, -2).matmul(v));
}

at::Tensor sums_over_past(const at::Tensor& a, const at::Tensor& b, const at::Tensor& v, at::Tensor* before) {
  const int64_t tokens = a.size(2);
  const int64_t chunk = std::clamp<int64_t>(tokens, 1, kSumChunk), chunks = (tokens + chunk - 1) / chunk;
  const at::Tensor first = before != nullptr && before->defined()
                               ? *before
                               : at::zeros({a.size(0), a.size(1), a.size(3), v.size(3)}, v.options());
  const auto cut = [&](const at::Tensor& x) { return cut_in_chunks(x, chunks, chunk); };
  const at::Tensor ac = cut(a), bc = cut(b), vc = cut(v);
  const at::Tensor inside = ac.matmul(bc.transpose(-1, -2)).tril().matmul(vc);
  // Entry c: the sum of all chunks before chunk c; the last one: of all tokens.
  const at::Tensor until = at::cat({first.unsqueeze(2), bc.transpose(-1, -2).matmul(vc)}, 2).cumsum(2);
  if (before != nullptr) *before = until.select(2, chunks);
  const at::Tensor sums = inside + ac.matmul(until.narrow(2, 0, chunks));
  return sums.flatten(2, 3).narrow(2, 0, tokens);
}

at::Tensor with_ones(const at::Tensor& v) { return at::constant_pad_nd(v, {0, 1}, 1); }

at::Tensor means_of(const at::Tensor& sums, const at::Tensor& more) {
  const int64_t channels = sums.size(-1) - 1;
  at::Tensor total = sums.narrow(-1, channels, 1);
  if (more.defined()) total = total + more;
  return sums.narrow(-1, 0, channels) / total.masked_fill(total == 0, 1);
}

}  // namespace primal::nn
