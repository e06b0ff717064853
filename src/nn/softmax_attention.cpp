#include "nn/softmax_attention.h"

#include <ATen/ATen.h>

#include "primal/error.h"

namespace primal::nn {

SoftmaxAttentionImpl::SoftmaxAttentionImpl(SoftmaxAttentionOptions options) : options_(options) {
  if (options.heads < 1 || options.width < 1 || options.width % options.heads != 0) {
    throw Error(c10::str("softmax_attention: width ", options.width, " is not divisible by ", options.heads, " heads"));
  }
  reset();
}

void SoftmaxAttentionImpl::reset() {
  const auto linear = [&](const char* name) {
    return register_module(
        name, torch::nn::Linear(torch::nn::LinearOptions(options_.width, options_.width).bias(options_.bias)));
  };
  q_proj = linear("q_proj");
  k_proj = linear("k_proj");
  v_proj = linear("v_proj");
  out_proj = linear("out_proj");
}

torch::Tensor SoftmaxAttentionImpl::forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  const int64_t batch = x.size(0), tokens = x.size(1), head_width = options_.width / options_.heads;
  const auto heads = [&](const torch::Tensor& y) {
    return y.view({batch, tokens, options_.heads, head_width}).transpose(1, 2);
  };
  std::optional<torch::Tensor> looked_at;  // [B, 1, N, N] or [B, 1, 1, N], true = look
  if (padding) {
    looked_at = padding->logical_not().view({batch, 1, 1, tokens});
    // A softmax over nothing is NaN: a sample without any token looks at its padding, and its output is zeroed below.
    looked_at = looked_at->logical_or(padding->all(1).view({batch, 1, 1, 1}));
    if (options_.causal) {
      const torch::Tensor past = torch::ones({tokens, tokens}, padding->options()).tril();
      // Left padding: a token before the first real one looks at itself.
      looked_at = looked_at->logical_and(past).logical_or(torch::eye(tokens, padding->options()));
    }
  }
  const torch::Tensor mixed = at::scaled_dot_product_attention(heads(q_proj(x)), heads(k_proj(x)), heads(v_proj(x)),
                                                               looked_at, is_training() ? options_.dropout : 0.0,
                                                               /*is_causal=*/options_.causal && !padding);
  const torch::Tensor out = out_proj(mixed.transpose(1, 2).reshape({batch, tokens, options_.width}));
  return padding ? out.masked_fill(padding->unsqueeze(-1), 0) : out;
}

}  // namespace primal::nn
