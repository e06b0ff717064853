#include "nn/encoder_parts.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "nn/primal_attention_arguments.h"
#include "nn/token_mixing.h"
#include "ops/dropout.h"
#include "ops/encoder_layer/encoder_layer.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr int64_t kRecomputedWidth = 128;  // up to there recomputing costs at most 6 % of the time

// ATen's own gradient of a norm's weights has other bits for other numbers of threads; that of a product has not.
torch::Tensor norm_in_two_steps(torch::nn::LayerNorm& norm, const torch::Tensor& x) {
  if (!norm->weight.defined() || !norm->bias.defined()) return norm(x);
  const torch::Tensor plain = at::layer_norm(x, norm->options.normalized_shape(), {}, {}, norm->options.eps());
  return at::addcmul(norm->bias, plain, norm->weight).to(x.scalar_type());
}

}  // namespace

torch::Tensor attention_input(const EncoderParts& parts, const torch::Tensor& x,
                              const std::optional<torch::Tensor>& left_out) {
  if (parts.mixing == nullptr) return parts.norm_first ? parts.norm1(x) : x;
  return parts.mixing->forward(parts.norm_first ? norm_in_two_steps(parts.norm1, x) : x, left_out);
}

torch::Tensor attention_input_step(const EncoderParts& parts, const torch::Tensor& x, TokenMixingState& state,
                                   const std::optional<torch::Tensor>& left_out) {
  const torch::Tensor normed = parts.norm_first ? parts.norm1(x) : x;
  return parts.mixing == nullptr ? normed : parts.mixing->step(normed, state, left_out);
}

std::shared_ptr<TokenMixingImpl> make_mixing(LayerMemory memory, int64_t scales, int64_t tokens, int64_t kernel,
                                             int64_t width, bool causal) {
  if (memory == LayerMemory::none && kernel == 0) return nullptr;
  return std::make_shared<TokenMixingImpl>(TokenMixingOptions{
      .width = width, .memory = memory, .scales = scales, .tokens = tokens, .causal = causal, .kernel = kernel});
}

torch::Tensor behind_attention(const EncoderParts& parts, const torch::Tensor& x, const torch::Tensor& attended) {
  const auto drop = [&](const torch::Tensor& y) { return ops::dropout(y, parts.dropout, parts.training); };
  const auto feed_forward = [&](const torch::Tensor& y) {
    const torch::Tensor inner = parts.linear1(y);
    return drop(parts.linear2(drop(parts.activation == Activation::gelu ? at::gelu(inner) : at::relu(inner))));
  };
  const torch::Tensor sum = x + drop(attended);
  if (parts.norm_first) return sum + feed_forward(parts.norm2(sum));
  const torch::Tensor middle = parts.norm1(sum);
  return parts.norm2(middle + feed_forward(middle));
}

std::optional<AttentionOutput> fused_layer(const EncoderParts& parts, const ops::AttentionArguments& attention,
                                           const std::optional<torch::Tensor>& unread,
                                           const std::optional<torch::Tensor>& attended) {
  if (at::autocast::is_autocast_enabled(at::kCPU) || !ops::has_encoder_layer(attention)) return std::nullopt;
  // The operator has one epsilon, and wants every weight and bias.
  if (parts.norm1->options.eps() != parts.norm2->options.eps()) return std::nullopt;
  for (const torch::Tensor& tensor : {parts.norm1->weight, parts.norm1->bias, parts.norm2->weight, parts.norm2->bias,
                                      parts.linear1->bias, parts.linear2->bias}) {
    if (!tensor.defined()) return std::nullopt;
  }
  const bool drops = parts.training && parts.dropout > 0;
  const int64_t width = parts.linear1->options.in_features();
  ops::EncoderLayerSwitches switches{.norm_first = parts.norm_first,
                                     .activation = parts.activation == Activation::gelu ? "gelu" : "relu",
                                     .epsilon = parts.norm1->options.eps(),
                                     .dropout = drops ? parts.dropout : 0,
                                     .recompute = parts.recompute.value_or(width <= kRecomputedWidth)};
  for (int64_t& seed : switches.seeds) seed = drops ? ops::draw_dropout_seed() : 0;
  return with_plain_errors([&]() -> AttentionOutput {
    auto [out, le, lr, tr] =
        ops::encoder_layer(attention,
                           {parts.norm1->weight, parts.norm1->bias, parts.norm2->weight, parts.norm2->bias,
                            parts.linear1->weight, parts.linear1->bias, parts.linear2->weight, parts.linear2->bias},
                           switches, unread, attended);
    return {out, KsvdTerms{le, lr, tr}};
  });
}

torch::Tensor encoder_tokens(int64_t width, const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                             bool respect_padding) {
  if (!x.defined()) throw Error("encoder_layer: x is not a tensor");
  if (x.dim() != 3 || x.size(2) != width) {
    throw Error(c10::str("encoder_layer: expected tokens [B, N, ", width, "], got ", x.sizes()));
  }
  if (padding && (padding->scalar_type() != at::kBool || padding->sizes() != x.sizes().slice(0, 2))) {
    throw Error(c10::str("encoder_layer: expected a bool padding mask ", x.sizes().slice(0, 2), ", got ",
                         padding->scalar_type(), " ", padding->sizes()));
  }
  // NaN times the zero gradient of a padded token would reach the gradients of norms and linear maps.
  return padding && respect_padding ? x.masked_fill(padding->unsqueeze(-1), 0) : x;
}

}  // namespace primal::nn
