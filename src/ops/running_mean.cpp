#include "ops/running_mean.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <vector>

#include "kernels/cpu_target.h"
#include "kernels/running_mean.h"
#include "ops/parallel.h"

namespace primal::ops {

namespace {

// Channels per unit of parallel work: a tile of sums (2 KiB) stays in L1 beside the rows that stream by.
constexpr int64_t kChannelTile = 256;

// Runs body(batch, first channel, channels) for every tile, in parallel. Tiles share nothing, so the result does not
// depend on the number of threads.
template <typename Body>
void for_each_tile(int64_t batch, int64_t width, const Body& body) {
  const int64_t tiles = (width + kChannelTile - 1) / kChannelTile;
  parallel_for(0, batch * tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = (i % tiles) * kChannelTile;
      body(i / tiles, first, std::min(kChannelTile, width - first));
    }
  });
}

const bool* row(const bool* padded, int64_t index, int64_t tokens) {
  return padded == nullptr ? nullptr : padded + index * tokens;
}

at::Tensor contiguous_mask(const std::optional<at::Tensor>& padded) {
  return padded ? padded->contiguous() : at::Tensor();
}

at::Tensor mean_on_cpu(const at::Tensor& input, const std::optional<at::Tensor>& padded, RunningState& state) {
  kernels::use_cpu_target_of_environment();
  const at::Tensor x = input.contiguous();
  const at::Tensor mask = contiguous_mask(padded);
  const int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
  at::Tensor mean = at::empty_like(x);
  const at::Tensor count_before = state.count.clone();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "running_mean", [&] {
    const bool* mask_data = mask.defined() ? mask.const_data_ptr<bool>() : nullptr;
    const int64_t* before = count_before.const_data_ptr<int64_t>();
    auto* sum = state.sum.mutable_data_ptr<double>();
    auto* count = state.count.mutable_data_ptr<int64_t>();
    for_each_tile(batch, width, [&](int64_t b, int64_t first, int64_t channels) {
      const int64_t offset = b * tokens * width + first;
      int64_t running_count = before[b];
      kernels::running_mean(x.const_data_ptr<scalar_t>() + offset, row(mask_data, b, tokens), {tokens, channels, width},
                            sum + b * width + first, running_count, mean.mutable_data_ptr<scalar_t>() + offset);
      if (first == 0) count[b] = running_count;
    });
  });
  return mean;
}

at::Tensor counts(const at::Tensor& like, const std::optional<at::Tensor>& padded) {
  const at::Tensor counted = padded ? padded->logical_not() : at::ones({like.size(0), like.size(1)}, like.options());
  return counted.to(at::kLong).cumsum(1);
}

at::Tensor backward_on_cpu(const at::Tensor& input, const std::optional<at::Tensor>& padded) {
  kernels::use_cpu_target_of_environment();
  const at::Tensor grad = input.contiguous();
  const at::Tensor mask = contiguous_mask(padded);
  const int64_t tokens = grad.size(1), width = grad.size(2);
  at::Tensor result = at::empty_like(grad);
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "running_mean_backward", [&] {
    const bool* mask_data = mask.defined() ? mask.const_data_ptr<bool>() : nullptr;
    for_each_tile(grad.size(0), width, [&](int64_t b, int64_t first, int64_t channels) {
      const int64_t offset = b * tokens * width + first;
      std::vector<double> carry(static_cast<size_t>(channels));
      kernels::running_mean_backward(grad.const_data_ptr<scalar_t>() + offset, row(mask_data, b, tokens),
                                     {tokens, channels, width}, carry.data(),
                                     result.mutable_data_ptr<scalar_t>() + offset);
    });
  });
  return result;
}

}  // namespace

at::Tensor running_mean_in_aten(const at::Tensor& x, const std::optional<at::Tensor>& padded, RunningState& state) {
  const at::Tensor counted_x = padded ? x.masked_fill(padded->unsqueeze(-1), 0) : x;
  const at::Tensor sums = counted_x.to(at::kDouble).cumsum(1) + state.sum.unsqueeze(1);
  const at::Tensor count = counts(x, padded) + state.count.unsqueeze(1);
  if (x.size(1) > 0) {
    state.sum.copy_(sums.select(1, -1));
    state.count.copy_(count.select(1, -1));
  }
  return (sums / count.clamp_min(1).unsqueeze(-1)).to(x.scalar_type());
}

at::Tensor running_mean_backward_in_aten(const at::Tensor& grad, const std::optional<at::Tensor>& padded) {
  const at::Tensor quotient = grad.to(at::kDouble) / counts(grad, padded).clamp_min(1).unsqueeze(-1);
  const at::Tensor later = quotient.flip(1).cumsum(1).flip(1).to(grad.scalar_type());
  return padded ? later.masked_fill(padded->unsqueeze(-1), 0) : later;
}

at::Tensor running_mean(const at::Tensor& x, const std::optional<at::Tensor>& padded, RunningState* state) {
  RunningState from_nothing;
  if (state == nullptr) {
    from_nothing = {at::zeros({x.size(0), x.size(2)}, x.options().dtype(at::kDouble)),
                    at::zeros({x.size(0)}, x.options().dtype(at::kLong))};
    state = &from_nothing;
  }
  return x.is_cpu() ? mean_on_cpu(x, padded, *state) : running_mean_in_aten(x, padded, *state);
}

at::Tensor running_mean_backward(const at::Tensor& grad, const std::optional<at::Tensor>& padded) {
  return grad.is_cpu() ? backward_on_cpu(grad, padded) : running_mean_backward_in_aten(grad, padded);
}

}  // namespace primal::ops
