#include "nn/attention/linear.h"

#include <ATen/ATen.h>

#include "nn/attention/kernel_sums.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr double kTotalFloor = 1e-6;  // published: keeps the mean of a token that sees nothing from 0 / 0

class LinearMixing : public ValueMixing {
 public:
  explicit LinearMixing(const AttentionOptions& o)
      : normalised_(o.linear.normalised), causal_(o.causal), masking_(o.masking) {}

  torch::Tensor mix(torch::nn::Module& /*module*/, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    if (normalised_) return linear_attention(heads, padding, causal_);
    return unnormalised_attention(positive_features(heads.q), positive_features(heads.k), heads.v, padding, masking_);
  }

  torch::Tensor step(torch::nn::Module& /*module*/, const Heads& heads, Past& past,
                     const std::optional<torch::Tensor>& padding) const override {
    return linear_attention(heads, padding, /*causal=*/true, &past);
  }

 private:
  bool normalised_, causal_;
  Masking masking_;
};

}  // namespace

torch::Tensor positive_features(const torch::Tensor& x) { return at::elu(x) + 1; }

torch::Tensor linear_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, bool causal,
                               Past* past) {
  const torch::Tensor a = positive_features(heads.q), b = cleared(positive_features(heads.k), padding);
  const torch::Tensor v = with_ones(cleared(heads.v, padding));
  const torch::Tensor floor = at::full({1}, kTotalFloor, v.options());
  if (!causal) return means_of(sums_over_all(a, b, v), floor);
  if (past == nullptr) return means_of(sums_over_past(a, b, v), floor);
  past->resize(1);
  return means_of(sums_over_past(a, b, v, past->data()), floor);
}

torch::Tensor unnormalised_attention(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& v,
                                     const std::optional<torch::Tensor>& padding, Masking masking) {
  const torch::Tensor count = token_counts(v, masking == Masking::right ? padding : std::nullopt);
  // A sample without any token has nothing to divide.
  const torch::Tensor scale = count.clamp_min(1).rsqrt();
  return a.matmul(cleared(b, padding).transpose(-1, -2).matmul(cleared(v, padding)) * scale);
}

std::unique_ptr<Attention> make_linear_attention(const AttentionOptions& options) {
  check_options("linear", options);
  if (options.causal && !options.linear.normalised) {
    throw Error("linear_attention: only the normalised form can be causal");
  }
  return make_value_mixing_attention(options, std::make_shared<LinearMixing>(options));
}

}  // namespace primal::nn
