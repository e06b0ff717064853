#include "nn/attention/cosine.h"

#include <ATen/ATen.h>

#include "nn/attention/linear.h"

namespace primal::nn {

namespace {

constexpr double kShortestVector = 1e-12;  // published: a vector of length 0 stays 0

torch::Tensor of_length_one(const torch::Tensor& x) {
  return x / at::linalg_vector_norm(x, 2, -1, /*keepdim=*/true).clamp_min(kShortestVector);
}

class CosineMixing : public ValueMixing {
 public:
  explicit CosineMixing(Masking masking) : masking_(masking) {}

  torch::Tensor mix(torch::nn::Module& /*module*/, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    return cosine_attention(heads, padding, masking_);
  }

 private:
  Masking masking_;
};

}  // namespace

torch::Tensor cosine_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, Masking masking) {
  return unnormalised_attention(of_length_one(heads.q), of_length_one(heads.k), heads.v, padding, masking);
}

std::unique_ptr<Attention> make_cosine_attention(const AttentionOptions& options) {
  check_options("cosine", options);
  refuse_causal("cosine", options);
  return make_value_mixing_attention(options, std::make_shared<CosineMixing>(options.masking));
}

}  // namespace primal::nn
