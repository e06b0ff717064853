#include "nn/attention/lsh.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace primal::nn {

namespace {

constexpr uint64_t kRotations = 0x6c7368;  // the purpose of these numbers: what else has the seed draws others

at::Tensor gaussian_columns(uint64_t seed, uint64_t factor, at::IntArrayRef rows, int64_t columns) {
  std::vector<at::Tensor> drawn;
  for (int64_t c = 0; c < columns; ++c) {
    base::Random random = base::Random::numbered(seed, kRotations + factor, static_cast<uint64_t>(c));
    at::Tensor& column = drawn.emplace_back(at::empty(rows, at::kDouble));
    std::generate_n(column.data_ptr<double>(), column.numel(), [&] { return random.normal(); });
  }
  return at::stack(drawn, -1);
}

// One factor of each sample: [B]
at::Tensor factor_of(const std::vector<BucketFactors>& buckets, int64_t BucketFactors::*factor) {
  std::vector<int64_t> numbers;
  for (const BucketFactors& sample : buckets) numbers.push_back(sample.*factor);
  return at::tensor(numbers, at::kLong);
}

int64_t largest_factor(const std::vector<BucketFactors>& buckets, int64_t BucketFactors::*factor) {
  int64_t largest = 1;
  for (const BucketFactors& sample : buckets) largest = std::max(largest, sample.*factor);
  return largest;
}

// Which direction is nearest, of the first count / 2 columns and their opposites: that of the largest absolute product.
// x: [B, H, N, d]; rotation: [H, d, R, columns]; count: [B] -> [B, H, R, N], 0 where count is 1
at::Tensor nearest_direction(const at::Tensor& x, const at::Tensor& rotation, const at::Tensor& count) {
  at::Tensor along = at::einsum("bhnd,hdrc->bhrnc", {x, rotation.to(x.options())});
  const at::Tensor pairs = count.div(2, "floor").view({-1, 1, 1, 1});
  const at::Tensor not_ours = at::arange(along.size(-1), at::kLong) >= pairs.unsqueeze(-1);
  if (not_ours.any().item<bool>()) along = along.masked_fill(not_ours, 0);
  const at::Tensor column = along.abs().argmax(-1, /*keepdim=*/true);
  const at::Tensor opposite = along.gather(-1, column) < 0;
  return (column + opposite * pairs.unsqueeze(-1)).squeeze(-1);
}

}  // namespace

BucketFactors bucket_factors(int64_t tokens, int64_t chunk) {
  const int64_t chunks = std::max<int64_t>((tokens + chunk - 1) / chunk, 1);
  const auto count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(2 * chunks)));
  if (count <= 2 * chunk) return {.first = count, .second = 1};
  const int power = std::countr_zero(static_cast<uint64_t>(count));
  return {.first = int64_t{1} << (power / 2), .second = int64_t{1} << (power - power / 2)};
}

LshRotations draw_rotations(uint64_t seed, int64_t heads, int64_t width, int64_t rounds,
                            const std::vector<BucketFactors>& buckets) {
  const auto drawn = [&](uint64_t number, int64_t BucketFactors::*factor) {
    const int64_t columns = largest_factor(buckets, factor) / 2;
    return columns == 0 ? at::Tensor() : gaussian_columns(seed, number, {heads, width, rounds}, columns);
  };
  return {.first = drawn(0, &BucketFactors::first), .second = drawn(1, &BucketFactors::second)};
}

at::Tensor lsh_buckets(const at::Tensor& x, const LshRotations& rotations, const std::vector<BucketFactors>& buckets,
                       const std::optional<at::Tensor>& padding) {
  const at::NoGradGuard no_grad;
  const at::Tensor first = factor_of(buckets, &BucketFactors::first);
  const at::Tensor second = factor_of(buckets, &BucketFactors::second);
  at::Tensor bucket = nearest_direction(x, rotations.first, first);
  if (rotations.second.defined()) {
    bucket += first.view({-1, 1, 1, 1}) * nearest_direction(x, rotations.second, second);
  }
  if (!padding) return bucket;
  return at::where(padding->unsqueeze(1).unsqueeze(1), (first * second).view({-1, 1, 1, 1}), bucket);
}

}  // namespace primal::nn
