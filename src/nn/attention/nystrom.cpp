#include "nn/attention/nystrom.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/conv.h>

#include <cmath>

#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr double kPublishedMask = -1e9;  // added to the products with padded keys

// Products as they are: the scale is in q and k already.
torch::Tensor softmax_means(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const std::optional<torch::Tensor>& mask = {}) {
  return at::scaled_dot_product_attention(q, k, v, mask, /*dropout_p=*/0, /*is_causal=*/false, /*scale=*/1.0);
}

// Which landmark each token belongs to.
struct Runs {
  torch::Tensor landmark;  // [B, 1, N, 1]; of a padded token: any
  torch::Tensor counts;    // [B, 1, m, 1]: real tokens of each landmark
  torch::Tensor tokens;    // [B, 1, 1, 1]: of the sample

  // [B, H, N, d], 0 at padded tokens -> [B, H, m, d], 0 for a landmark without tokens
  torch::Tensor means(const torch::Tensor& x) const {
    const torch::Tensor none = at::zeros({x.size(0), x.size(1), counts.size(2), x.size(3)}, x.options());
    return none.scatter_add(2, landmark.expand_as(x), x) / counts.clamp_min(1);
  }
  // [B, 1, 1, m] bool. A softmax over nothing is NaN: a sample without any token looks at empty landmarks.
  torch::Tensor looked_at() const { return (counts > 0).logical_or(tokens == 0).transpose(2, 3); }
};

// As equal as can be: the r-th of n real tokens belongs to landmark r m / n, or has its own one if there are enough.
Runs own_runs(const torch::Tensor& x, int64_t landmarks, const std::optional<torch::Tensor>& padding) {
  const int64_t batch = x.size(0), length = x.size(2);
  const torch::Tensor real =
      padding ? padding->logical_not().to(at::kLong) : at::ones({batch, length}, x.options().dtype(at::kLong));
  const torch::Tensor rank = (real.cumsum(1) - 1).clamp_min(0), tokens = real.sum(1, /*keepdim=*/true);
  const torch::Tensor landmark =
      at::where(tokens <= landmarks, rank, (rank * landmarks).floor_divide(tokens.clamp_min(1)));
  const torch::Tensor counts = at::zeros({batch, landmarks}, real.options()).scatter_add(1, landmark, real);
  return {.landmark = landmark.view({batch, 1, length, 1}),
          .counts = counts.view({batch, 1, landmarks, 1}),
          .tokens = tokens.view({batch, 1, 1, 1})};
}

// Z softmax(Lq k^T) v: the values that the landmarks stand for. [B, H, m, d]
torch::Tensor landmark_values(const torch::Tensor& lq, const torch::Tensor& lk, const Heads& heads,
                              const NystromKindOptions& options, const std::optional<torch::Tensor>& mask) {
  const torch::Tensor among = lq.matmul(lk.transpose(-1, -2)).softmax(-1);
  return iterated_inverse(among, options.iterations, options.start).matmul(softmax_means(lq, heads.k, heads.v, mask));
}

// heads: q and k scaled, all 0 at padded tokens
torch::Tensor nystrom_of_own_runs(const Heads& heads, const NystromKindOptions& options,
                                  const std::optional<torch::Tensor>& padding) {
  const Runs runs = own_runs(heads.q, options.landmarks, padding);
  const torch::Tensor lk = runs.means(heads.k);
  // If every token is its own landmark, the softmax over the landmarks is that over the tokens.
  torch::Tensor values = runs.means(heads.v);
  if (heads.q.size(2) > options.landmarks) {
    std::optional<torch::Tensor> looked_at;
    if (padding) {
      looked_at = padding->logical_not().logical_or(padding->all(1, /*keepdim=*/true)).unsqueeze(1).unsqueeze(1);
    }
    values = at::where(runs.tokens <= options.landmarks, values,
                       landmark_values(runs.means(heads.q), lk, heads, options, looked_at));
  }
  return softmax_means(heads.q, lk, values, runs.looked_at());
}

// heads: q and k scaled and 0 at padded tokens, v as it came
torch::Tensor nystrom_as_published(const Heads& heads, const NystromKindOptions& options,
                                   const std::optional<torch::Tensor>& padding) {
  const int64_t tokens = heads.q.size(2), landmarks = options.landmarks;
  std::optional<torch::Tensor> mask;
  if (padding) mask = (padding->to(heads.q.scalar_type()) * kPublishedMask).unsqueeze(1).unsqueeze(1);
  if (tokens == landmarks) return softmax_means(heads.q, heads.k, heads.v, mask);
  if (tokens % landmarks != 0) {
    throw Error(
        c10::str("nystrom_attention: the published masking needs a multiple of ", landmarks, " tokens, got ", tokens));
  }
  const auto means = [&](const torch::Tensor& x) { return x.unflatten(2, {landmarks, tokens / landmarks}).mean(3); };
  const torch::Tensor lk = means(heads.k);
  return softmax_means(heads.q, lk, landmark_values(means(heads.q), lk, heads, options, mask));
}

class NystromMixing : public ValueMixing {
 public:
  explicit NystromMixing(const AttentionOptions& o) : own_(o.nystrom), heads_(o.heads), masking_(o.masking) {}

  void add_parameters(torch::nn::Module& module) const override {
    if (own_.kernel == 0) return;
    module.register_module(
        "conv",
        torch::nn::Conv2d(torch::nn::Conv2dOptions(heads_, heads_, {own_.kernel, 1}).groups(heads_).bias(false)));
  }

  torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    const torch::Tensor mixed = nystrom_attention(heads, own_, padding, masking_);
    if (own_.kernel == 0) return mixed;
    const torch::Tensor weight = tensor_of(module, "conv.weight").to(heads.v.scalar_type());
    return mixed + convolved_values(cleared(heads.v, padding), weight);
  }

 private:
  NystromKindOptions own_;
  int64_t heads_;
  Masking masking_;
};

}  // namespace

torch::Tensor nystrom_attention(const Heads& heads, const NystromKindOptions& options,
                                const std::optional<torch::Tensor>& padding, Masking masking) {
  const double scale = std::pow(static_cast<double>(heads.q.size(3)), -0.25);
  const Heads scaled{.q = cleared(heads.q, padding) * scale, .k = cleared(heads.k, padding) * scale, .v = heads.v};
  if (masking == Masking::published) return nystrom_as_published(scaled, options, padding);
  return nystrom_of_own_runs({.q = scaled.q, .k = scaled.k, .v = cleared(heads.v, padding)}, options, padding);
}

torch::Tensor convolved_values(const torch::Tensor& v, const torch::Tensor& weight) {
  return at::conv2d(v, weight, /*bias=*/{}, /*stride=*/1, /*padding=*/{weight.size(2) / 2, 0}, /*dilation=*/1,
                    /*groups=*/v.size(1));
}

torch::Tensor iterated_inverse(const torch::Tensor& matrix, int64_t iterations, NystromStart start) {
  const torch::Tensor columns = matrix.sum(-2, /*keepdim=*/true);
  const torch::Tensor largest = start == NystromStart::original ? columns.max() : columns.amax(-1, /*keepdim=*/true);
  const torch::Tensor one = at::eye(matrix.size(-1), matrix.options());
  torch::Tensor inverse = matrix.transpose(-1, -2) / largest;
  for (int64_t i = 0; i < iterations; ++i) {
    const torch::Tensor product = matrix.matmul(inverse);
    const torch::Tensor correction = 13 * one - product.matmul(15 * one - product.matmul(7 * one - product));
    inverse = inverse.matmul(correction) / 4;
  }
  return inverse;
}

std::unique_ptr<Attention> make_nystrom_attention(const AttentionOptions& options) {
  check_options("nystrom", options);
  refuse_causal("nystrom", options);
  const NystromKindOptions& o = options.nystrom;
  const auto fail = [](const auto&... parts) { throw Error(c10::str("nystrom_attention: ", parts...)); };
  if (o.landmarks < 1) fail("landmarks must be at least 1, got ", o.landmarks);
  if (o.iterations < 1) fail("iterations must be at least 1, got ", o.iterations);
  if (o.kernel < 0 || (o.kernel > 0 && o.kernel % 2 == 0)) fail("kernel must be odd, or 0 for none, got ", o.kernel);
  return make_value_mixing_attention(options, std::make_shared<NystromMixing>(options));
}

}  // namespace primal::nn
