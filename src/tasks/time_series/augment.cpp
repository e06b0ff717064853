#include "tasks/time_series/augment.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::tasks {

namespace {

torch::Tensor uniform(at::IntArrayRef sizes, base::Random& random) {
  torch::Tensor values = torch::empty(sizes);
  std::generate_n(values.data_ptr<float>(), values.numel(), [&] { return static_cast<float>(random.uniform()); });
  return values;
}

torch::Tensor normal(at::IntArrayRef sizes, base::Random& random) {
  torch::Tensor values = torch::empty(sizes);
  std::generate_n(values.data_ptr<float>(), values.numel(), [&] { return static_cast<float>(random.normal()); });
  return values;
}

// Each series is resampled along a path of two straight pieces from its start to its end. The pieces meet at a random
// instant, moved by up to `share` of its distance to the nearer end: what lies before is slower, what follows faster.
torch::Tensor warped(const torch::Tensor& x, const torch::Tensor& lengths, double share, base::Random& random) {
  const int64_t batch = x.size(0), tokens = x.size(1);
  const torch::Tensor last = (lengths - 1).clamp_min(1).to(x.scalar_type()).unsqueeze(1);  // [B, 1]
  const torch::Tensor knot = uniform({batch, 1}, random) * 0.6 + 0.2;
  const torch::Tensor moved = knot + (uniform({batch, 1}, random) * 2 - 1) * share * at::minimum(knot, 1 - knot);
  const torch::Tensor instant = (torch::arange(tokens, x.options()).unsqueeze(0) / last).clamp_max(1);  // [B, N]
  const torch::Tensor source =
      at::where(instant < knot, instant * moved / knot, 1 - (1 - instant) * (1 - moved) / (1 - knot)) * last;
  const torch::Tensor below = source.floor();
  const auto rows = [&](const torch::Tensor& index) {
    const torch::Tensor inside = at::minimum(index.to(torch::kInt64), (lengths - 1).clamp_min(0).unsqueeze(1));
    return x.gather(1, inside.clamp_min(0).unsqueeze(-1).expand_as(x));
  };
  return at::lerp(rows(below), rows(below + 1), (source - below).unsqueeze(-1));
}

}  // namespace

void augment(models::SeriesBatch& batch, const torch::Tensor& lengths, const AugmentOptions& options,
             base::Random random) {
  const auto& [noise, scale, warp] = options;
  if (noise == 0 && scale == 0 && warp == 0) return;
  torch::Tensor x = batch.x;
  if (warp > 0) x = warped(x, lengths, warp, random);
  if (scale > 0) x = x * (1 + scale * normal({x.size(0), 1, x.size(2)}, random));
  if (noise > 0) x = x + noise * normal(x.sizes(), random);
  batch.x = x.masked_fill(batch.padding.unsqueeze(-1), 0);
}

}  // namespace primal::tasks
