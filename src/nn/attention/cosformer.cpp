#include "nn/attention/cosformer.h"

#include <ATen/ATen.h>

#include <numbers>

#include "nn/attention/kernel_sums.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

// The published floor of the denominator: a query without a positive number has only weights of 0.
constexpr double kLeastWeight = 1e-6;

// i, for each token: [B, N], those of padded tokens as large as those before them.
torch::Tensor positions_of(const Heads& heads, const std::optional<torch::Tensor>& padding) {
  const torch::Tensor counted = padding ? padding->logical_not().to(heads.q.scalar_type())
                                        : at::ones({heads.q.size(0), heads.q.size(2)}, heads.q.options());
  return counted.cumsum(1);
}

// relu(x_i) times sin and cos of theta_i, so that a product of two features has cos(theta_i - theta_j).
// x: [B, H, N, d]; theta: [B, N] -> [B, H, N, 2 d]
torch::Tensor turned_features(const torch::Tensor& x, const torch::Tensor& theta) {
  const torch::Tensor positive = x.relu(), angle = theta.unsqueeze(1).unsqueeze(-1);
  return at::cat({positive * angle.sin(), positive * angle.cos()}, -1);
}

// sums of with_ones(v): [B, H, N, d + 1] -> [B, H, N, d]
torch::Tensor divided_by_weights(const torch::Tensor& sums) {
  const int64_t d = sums.size(3) - 1;
  return sums.narrow(3, 0, d) / sums.narrow(3, d, 1).clamp_min(kLeastWeight);
}

// The largest of the positions is the number of the sample's tokens: [B, 1]
torch::Tensor cosformer_length(const torch::Tensor& positions) {
  return positions.amax(1, /*keepdim=*/true).clamp_min(1);
}

void check_within(const torch::Tensor& positions, int64_t period) {
  if (const auto reached = static_cast<int64_t>(positions.max().item<double>()); reached > period) {
    throw Error(c10::str("cosformer_attention: made for sequences of at most ", period, " tokens, got ", reached));
  }
}

class CosformerMixing : public ValueMixing {
 public:
  explicit CosformerMixing(const AttentionOptions& o) : period_(o.tokens), causal_(o.causal), masking_(o.masking) {}

  torch::Tensor mix(torch::nn::Module& /*module*/, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    return causal_ ? causal_cosformer_attention(heads, left_out(padding), period_)
                   : cosformer_attention(heads, left_out(padding));
  }

  torch::Tensor step(torch::nn::Module& /*module*/, const Heads& heads, Past& past,
                     const std::optional<torch::Tensor>& padding) const override {
    return causal_cosformer_attention(heads, left_out(padding), period_, &past);
  }

  std::optional<int64_t> most_tokens() const override { return period_ > 0 ? std::optional(period_) : std::nullopt; }

 private:
  // As published, padded tokens count like any other.
  std::optional<torch::Tensor> left_out(const std::optional<torch::Tensor>& padding) const {
    return masking_ == Masking::right ? padding : std::nullopt;
  }

  int64_t period_;
  bool causal_;
  Masking masking_;
};

}  // namespace

torch::Tensor cosformer_attention(const Heads& heads, const std::optional<torch::Tensor>& padding) {
  if (heads.q.size(2) == 0) return at::zeros_like(heads.v);
  const torch::Tensor positions = positions_of(heads, padding);
  const torch::Tensor theta = positions * (std::numbers::pi / 2) / cosformer_length(positions);
  return divided_by_weights(sums_over_all(turned_features(heads.q, theta),
                                          cleared(turned_features(heads.k, theta), padding),
                                          with_ones(cleared(heads.v, padding))));
}

torch::Tensor causal_cosformer_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                                         int64_t period, Past* past) {
  if (past != nullptr && period < 1) {
    throw Error("cosformer_attention: decoding needs to know the length of the longest sequence (tokens)");
  }
  if (heads.v.numel() == 0) return at::zeros_like(heads.v);
  Past before = past != nullptr && !past->empty()
                    ? *past  // the number of tokens so far, [B, 1], and the sums of their features times values
                    : Past{at::zeros({heads.q.size(0), 1}, heads.q.options()), torch::Tensor()};
  const torch::Tensor positions = positions_of(heads, padding) + before[0];
  if (period > 0) check_within(positions, period);
  const torch::Tensor angles = positions * (std::numbers::pi / 2);
  const torch::Tensor theta = period > 0 ? angles / static_cast<double>(period) : angles / cosformer_length(positions);
  before[0] = positions.narrow(1, positions.size(1) - 1, 1);
  const torch::Tensor sums =
      sums_over_past(turned_features(heads.q, theta), cleared(turned_features(heads.k, theta), padding),
                     with_ones(cleared(heads.v, padding)), &before[1]);
  if (past != nullptr) *past = before;
  return divided_by_weights(sums);
}

std::unique_ptr<Attention> make_cosformer_attention(const AttentionOptions& options) {
  check_options("cosformer", options);
  return make_value_mixing_attention(options, std::make_shared<CosformerMixing>(options));
}

}  // namespace primal::nn
