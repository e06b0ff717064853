#include "ops/moving_average/in_aten.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace primal::ops {

namespace {

// Neighbouring channels with one time scale.
int64_t channels_per_scale(const MovingAverageArguments& a) {
  return a.width() / std::max<int64_t>(1, a.log_scale.size(2));
}

// One direction, in order of time: tensors [B, S, N, D] or what spreads to it.
struct Direction {
  at::Tensor rate;    // [S, 1, D] float64: tokens per time scale
  at::Tensor weight;  // [S, 1, D]
  at::Tensor count;   // [B or 1, 1, N, 1] float64: tokens so far that are not padded

  Direction(const MovingAverageArguments& a, int64_t direction, at::ScalarType inner) {
    const at::Tensor log_scale = a.log_scale.select(0, direction).to(at::kDouble);
    rate = log_scale.neg().exp().repeat_interleave(channels_per_scale(a), 1).unsqueeze(1);
    weight = a.weight.select(0, direction).to(inner).unsqueeze(1);
    const at::Tensor counted =
        a.padding ? a.padding->logical_not() : at::ones({1, a.tokens()}, a.x.options().dtype(at::kBool));
    const at::Tensor ones = counted.to(at::kDouble);
    count = (direction == 0 ? ones : ones.flip(1)).cumsum(1).unsqueeze(1).unsqueeze(-1);
  }

  // a^tokens, for differences of counts. 0 tokens of the shortest time scale are 1 as well.
  at::Tensor faded(const at::Tensor& tokens) const {
    return at::where(tokens == 0, at::ones({}, tokens.options()), (tokens * rate).neg().exp());
  }

  // The fading sums of u [B, S or 1, N, D]: each step adds the sums of as many tokens as it has seen already.
  at::Tensor sums(const at::Tensor& u) const {
    const int64_t tokens = u.size(2);
    at::Tensor m = u.expand({-1, rate.size(0), -1, -1});
    for (int64_t k = 1; k < tokens; k *= 2) {
      const at::Tensor between = count.narrow(2, k, tokens - k) - count.narrow(2, 0, tokens - k);
      const at::Tensor older = m.narrow(2, 0, tokens - k) * faded(between).to(m.scalar_type());
      m = at::cat({m.narrow(2, 0, k), m.narrow(2, k, tokens - k) + older}, 2);
    }
    return m;
  }
};

at::Tensor in_order(const at::Tensor& x, int64_t direction) { return direction == 0 ? x : x.flip(-2); }

struct Tokens {
  at::ScalarType inner;
  at::Tensor x;  // [B, 1, N, D], zero where padded

  static at::Tensor counted(const at::Tensor& x, const MovingAverageArguments& a, at::ScalarType inner) {
    const at::Tensor wide = x.to(inner).unsqueeze(1);
    return a.padding ? wide.masked_fill(a.padding->unsqueeze(1).unsqueeze(-1), 0) : wide;
  }
  explicit Tokens(const MovingAverageArguments& a)
      : inner(a.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat), x(counted(a.x, a, inner)) {}
};

// The sums of one direction [B, S, N, D], with what the state left behind.
at::Tensor all_sums(const MovingAverageArguments& a, const Direction& d, const at::Tensor& x) {
  at::Tensor m = d.sums(x);
  if (a.state) m = m + (d.faded(d.count) * a.state->unsqueeze(2)).to(m.scalar_type());
  return m;
}

at::Tensor zero_padded(const at::Tensor& y, const MovingAverageArguments& a) {
  return a.padding ? y.masked_fill(a.padding->unsqueeze(-1), 0) : y;
}

}  // namespace

MovingAverage moving_average_in_aten(const MovingAverageArguments& a) {
  const Tokens tokens(a);
  at::Tensor y = a.skip ? tokens.x.squeeze(1) * a.skip->to(tokens.inner) : at::zeros_like(tokens.x.squeeze(1));
  const bool one_way = a.directions() == 1;
  const auto doubles = a.x.options().dtype(at::kDouble);
  at::Tensor state = at::zeros({a.batch(), one_way ? a.scales() : 0, a.width()}, doubles);
  if (one_way && a.state) state = a.state->clone();
  for (int64_t r = 0; r < a.directions(); ++r) {
    const Direction d(a, r, tokens.inner);
    const at::Tensor m = all_sums(a, d, in_order(tokens.x, r));
    y = y + in_order((d.weight * m).sum(1), r);
    if (one_way && a.tokens() > 0) state = m.select(2, -1).to(at::kDouble);
  }
  return {zero_padded(y, a).to(a.x.scalar_type()), state};
}

MovingAverageGradients moving_average_gradients_in_aten(const MovingAverageArguments& a,
                                                        const at::Tensor& out_gradient) {
  const Tokens tokens(a);
  const at::Tensor g = Tokens::counted(out_gradient, a, tokens.inner);
  MovingAverageGradients result;
  result.x = a.skip ? g.squeeze(1) * a.skip->to(tokens.inner) : at::zeros_like(g.squeeze(1));
  if (a.skip) result.skip = (g * tokens.x).sum({0, 1, 2}).to(a.skip->scalar_type());
  std::vector<at::Tensor> log_scales, weights;
  for (int64_t r = 0; r < a.directions(); ++r) {
    const Direction d(a, r, tokens.inner);
    const at::Tensor x = in_order(tokens.x, r), gradient = in_order(g, r);
    const at::Tensor m = all_sums(a, d, x);
    // The gradient of the sums runs the other way; the last token's comes first.
    Direction back = d;
    at::Tensor p = gradient * d.weight;
    if (a.tokens() > 0) {
      back.count = (d.count.narrow(2, -1, 1) - d.count).flip(2);
      p = back.sums(p.flip(2)).flip(2);
    }
    if (a.padding) p = p.masked_fill(in_order(a.padding->unsqueeze(1).unsqueeze(-1), r), 0);
    result.x = result.x + in_order(p.sum(1), r);
    weights.push_back((gradient * m).sum({0, 2}));
    const at::Tensor per_channel = (p * (m - x)).to(at::kDouble).sum({0, 2}) * d.rate.squeeze(1);
    log_scales.push_back(at::where(d.rate.squeeze(1).isinf(), at::zeros({}, per_channel.options()), per_channel)
                             .unflatten(1, {a.log_scale.size(2), channels_per_scale(a)})
                             .sum(2));
    if (a.state) result.state = (d.faded(d.count) * (gradient * d.weight).to(at::kDouble)).sum(2);
  }
  result.x = result.x.to(a.x.scalar_type());
  result.log_scale = at::stack(log_scales).to(a.log_scale.scalar_type());
  result.weight = at::stack(weights).to(a.weight.scalar_type());
  return result;
}

// The state is the sum over tokens of a^(tokens behind it) x, and a^tokens the state before: one scale after another,
// for the sake of memory.
void add_state_gradient(const MovingAverageArguments& a, const at::Tensor& state_gradient,
                        MovingAverageGradients& gradients) {
  const Direction d(a, 0, at::kDouble);
  const at::Tensor counted = d.count.view({d.count.size(0), a.tokens(), 1});  // [B or 1, N, 1]
  const at::Tensor all = a.tokens() > 0 ? counted.narrow(1, -1, 1) : at::zeros({1, 1, 1}, counted.options());
  const at::Tensor behind = all - counted;
  at::Tensor x = a.x.to(at::kDouble), share = at::zeros_like(x);
  if (a.padding) x = x.masked_fill(a.padding->unsqueeze(-1), 0);
  std::vector<at::Tensor> log_scales;
  for (int64_t i = 0; i < a.scales(); ++i) {
    const at::Tensor rate = d.rate.select(0, i),
                     gradient = state_gradient.select(1, i).unsqueeze(1);  // [1, D], [B, 1, D]
    const auto faded = [&](const at::Tensor& tokens) {
      return at::where(tokens == 0, at::ones({}, tokens.options()), (tokens * rate).neg().exp());
    };
    // d a^k / d log_scale = k rate a^k: 0 where the rate is infinite.
    const auto slope = [&](const at::Tensor& tokens) { return (tokens * rate * faded(tokens)).nan_to_num(0.0); };
    share = share + faded(behind) * gradient;
    at::Tensor log_scale = (slope(behind) * x * gradient).sum({0, 1});
    if (a.state) {
      const at::Tensor before = a.state->select(1, i).unsqueeze(1);
      log_scale = log_scale + (slope(all) * before * gradient).sum({0, 1});
      gradients.state.select(1, i).add_((faded(all) * gradient).squeeze(1));
    }
    log_scales.push_back(log_scale.unflatten(0, {a.log_scale.size(2), channels_per_scale(a)}).sum(1));
  }
  if (a.padding) share = share.masked_fill(a.padding->unsqueeze(-1), 0);
  gradients.x = gradients.x + share.to(gradients.x.scalar_type());
  if (!log_scales.empty()) {
    gradients.log_scale =
        gradients.log_scale + at::stack(log_scales).unsqueeze(0).to(gradients.log_scale.scalar_type());
  }
}

}  // namespace primal::ops
