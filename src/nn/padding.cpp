#include <ATen/ATen.h>

#include "primal/attention.h"

namespace primal {

torch::Tensor padding_mask(const torch::Tensor& lengths, int64_t tokens) {
  if (lengths.dim() != 1 || !at::isIntegralType(lengths.scalar_type(), /*includeBool=*/false)) {
    throw Error(
        c10::str("padding_mask: lengths must be integers [B], got ", lengths.scalar_type(), " ", lengths.sizes()));
  }
  if (lengths.numel() > 0) {
    const auto low = lengths.min().item<int64_t>(), high = lengths.max().item<int64_t>();
    if (low < 0) throw Error(c10::str("padding_mask: length ", low, " is negative"));
    if (high > tokens) throw Error(c10::str("padding_mask: length ", high, " is above the ", tokens, " tokens"));
  }
  return at::arange(tokens, lengths.options().dtype(at::kLong)).unsqueeze(0) >= lengths.unsqueeze(1);
}

}  // namespace primal
