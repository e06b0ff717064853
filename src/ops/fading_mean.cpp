#include "ops/fading_mean.h"

#include <ATen/ATen.h>

#include "ops/moving_average/moving_average.h"

namespace primal::ops {

namespace {

MovingAverageArguments sums_of(const at::Tensor& x, const at::Tensor& log_scale,
                               const std::optional<at::Tensor>& padded) {
  // Time scales in double, so that their gradient comes in double as well.
  return {.x = x,
          .log_scale = log_scale.to(at::kDouble).view({1, 1, -1}),
          .weight = at::ones({1, 1, x.size(2)}, x.options()),
          .padding = padded};
}

// Tokens so far that are not padded, after those of the state: [B or 1, N] int64.
at::Tensor counts_of(const at::Tensor& x, const std::optional<at::Tensor>& padded, const RunningState* state) {
  const at::Tensor counted = padded ? padded->logical_not() : at::ones({1, x.size(1)}, x.options().dtype(at::kBool));
  const at::Tensor count = counted.to(at::kLong).cumsum(1);
  return state == nullptr ? count : count + state->count.unsqueeze(1);
}

// n_t, the sum of the weights, as a closed form: no power of a rounded a. [B or 1, N, G] float64
struct TotalWeight {
  at::Tensor rate;   // [G] float64: tokens per time scale
  at::Tensor count;  // [B or 1, N, 1] float64: at least 1, for what comes before the first token

  TotalWeight(const at::Tensor& log_scale, const at::Tensor& counts)
      : rate(log_scale.to(at::kDouble).neg().exp()), count(counts.clamp_min(1).to(at::kDouble).unsqueeze(-1)) {}

  at::Tensor value() const { return at::where(rate == 0, count, at::expm1(-count * rate) / at::expm1(-rate)); }
  // d log n / d log_scale
  at::Tensor slope() const { return quotient(rate) - quotient(count * rate); }

 private:
  // z / (exp(z) - 1), with its limits
  static at::Tensor quotient(const at::Tensor& z) {
    const at::Tensor inside = z / at::expm1(z);
    return at::where(z == 0, at::ones_like(z), at::where(z.isinf(), at::zeros_like(z), inside));
  }
};

// x [B, N, D] over the number of each group of channels [B or 1, N, G].
at::Tensor divided(const at::Tensor& x, const at::Tensor& divisor) {
  const int64_t groups = divisor.size(-1);
  const at::Tensor apart = x.reshape({x.size(0), x.size(1), groups, x.size(2) / groups});
  return (apart / divisor.unsqueeze(-1)).to(x.scalar_type()).view(x.sizes());
}

}  // namespace

at::Tensor fading_mean(const at::Tensor& x, const at::Tensor& log_scale, const std::optional<at::Tensor>& padded,
                       RunningState* state) {
  MovingAverageArguments a = sums_of(x, log_scale, padded);
  if (state != nullptr) a.state = state->sum.unsqueeze(1);
  const MovingAverage sums = moving_average_pass(a);
  const at::Tensor counts = counts_of(x, padded, state);
  if (state != nullptr && x.size(1) > 0) {
    state->sum.copy_(sums.state.squeeze(1));
    state->count.copy_(counts.select(1, -1));
  }
  return divided(sums.out, TotalWeight(log_scale, counts).value());
}

FadingMeanGradients fading_mean_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                         const at::Tensor& log_scale, const std::optional<at::Tensor>& padded) {
  const TotalWeight weight(log_scale, counts_of(x, padded, nullptr));
  const MovingAverageGradients sums =
      moving_average_gradients(sums_of(x, log_scale, padded), divided(grad, weight.value()), at::Tensor());
  // y = m / n: log_scale acts on the sums m and on n.
  const int64_t groups = log_scale.size(0);
  const at::Tensor along = (grad * mean).view({x.size(0), x.size(1), groups, x.size(2) / groups});
  const at::Tensor of_weight = (along.sum(3, /*keepdim=*/false, at::kDouble) * weight.slope()).sum({0, 1});
  return {sums.x, sums.log_scale.view({groups}) - of_weight};
}

}  // namespace primal::ops
