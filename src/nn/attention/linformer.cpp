#include "nn/attention/linformer.h"

#include <ATen/ATen.h>

#include "ops/softmax_attention/softmax_attention.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr double kLinformerDeviation = 0.02;  // published

class LinformerMixing : public ValueMixing {
 public:
  explicit LinformerMixing(const AttentionOptions& options)
      : heads_(options.heads), rows_(options.linformer.rows), tokens_(options.tokens), dropout_(options.dropout) {}

  void add_parameters(torch::nn::Module& module) const override {
    module.register_parameter("E", torch::randn({heads_, rows_, tokens_}) * kLinformerDeviation);
  }

  torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    return linformer_attention(heads, tensor_of(module, "E").to(heads.k.scalar_type()), padding,
                               module.is_training() ? dropout_ : 0.0);
  }

 private:
  int64_t heads_, rows_, tokens_;
  double dropout_;
};

}  // namespace

torch::Tensor linformer_attention(const Heads& heads, const torch::Tensor& e,
                                  const std::optional<torch::Tensor>& padding, double dropout) {
  const int64_t tokens = heads.k.size(2);
  if (tokens > e.size(2)) {
    throw Error(c10::str("linformer_attention: made for at most ", e.size(2), " tokens, got ", tokens));
  }
  // einsum and not matmul, which would make a copy of E for every sample.
  const auto mapped = [&](const torch::Tensor& x) {
    return at::einsum("hrn,bhnd->bhrd", {e.narrow(2, 0, tokens), cleared(x, padding)});
  };
  if (ops::has_softmax_attention(heads.q, dropout)) {
    return ops::softmax_attention({.q = heads.q, .k = mapped(heads.k), .v = mapped(heads.v), .dropout = dropout});
  }
  return at::scaled_dot_product_attention(heads.q, mapped(heads.k), mapped(heads.v), {}, dropout);
}

std::unique_ptr<Attention> make_linformer_attention(const AttentionOptions& options) {
  check_options("linformer", options);
  refuse_causal("linformer", options);
  const int64_t rows = options.linformer.rows;
  if (rows < 1) throw Error(c10::str("linformer_attention: rows must be at least 1, got ", rows));
  if (options.tokens < 1) {
    throw Error("linformer_attention: tokens must be the length of the longest sequence, got " +
                std::to_string(options.tokens));
  }
  return make_value_mixing_attention(options, std::make_shared<LinformerMixing>(options));
}

}  // namespace primal::nn
