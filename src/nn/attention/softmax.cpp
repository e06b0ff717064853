#include "nn/attention/softmax.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "ops/softmax_attention/softmax_attention.h"
#include "primal/error.h"

namespace primal::nn {

namespace {

// Which of `tokens` tokens the last `rows` look at in a causal pass: [B or 1, 1, rows, tokens], true = look.
torch::Tensor looked_at_before(int64_t rows, int64_t tokens, const std::optional<torch::Tensor>& padding,
                               torch::Device device) {
  const torch::Tensor key = torch::arange(tokens, device);
  const torch::Tensor query = torch::arange(tokens - rows, tokens, device).unsqueeze(1);
  const torch::Tensor past = key.le(query).view({1, 1, rows, tokens});
  if (!padding) return past;
  // A softmax over nothing is NaN: a token before the first real one looks at itself.
  const torch::Tensor looked_at = past.logical_and(padding->logical_not().unsqueeze(1).unsqueeze(1));
  return looked_at.logical_or(looked_at.any(-1, /*keepdim=*/true).logical_not().logical_and(key.eq(query)));
}

// The same where tokens see both ways: [B, 1, 1, N].
torch::Tensor looked_at_anywhere(const torch::Tensor& padding) {
  // A softmax over nothing is NaN: a sample without any token looks at its padding; its output is zeroed later.
  return padding.logical_not().logical_or(padding.all(1, /*keepdim=*/true)).unsqueeze(1).unsqueeze(1);
}

// Added to the scores of padded keys by the published Long Range Arena code: a finite number, so that a sample without
// any token looks at its padding.
constexpr double kPublishedMask = -1e6;

// [B, 1, 1, N]
torch::Tensor published_mask(const torch::Tensor& padding, const torch::Tensor& like) {
  return padding.to(like.dtype()).mul(kPublishedMask).unsqueeze(1).unsqueeze(1);
}

}  // namespace

SoftmaxAttentionImpl::SoftmaxAttentionImpl(AttentionOptions options) : options_(std::move(options)) {
  check_options("softmax", options_);
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

torch::Tensor SoftmaxAttentionImpl::heads(const torch::Tensor& x) const {
  return x.view({x.size(0), x.size(1), options_.heads, options_.width / options_.heads}).transpose(1, 2);
}

torch::Tensor SoftmaxAttentionImpl::output(const torch::Tensor& mixed, const std::optional<torch::Tensor>& padding) {
  const torch::Tensor merged = mixed.transpose(1, 2).reshape({mixed.size(0), mixed.size(2), options_.width});
  if (!padding || is_masked_as_published()) return out_proj(merged);
  const torch::Tensor padded = padding->unsqueeze(-1);
  return options_.padding == Padding::respect ? out_proj(merged).masked_fill(padded, 0)
                                              : out_proj(merged.masked_fill(padded, 0));
}

torch::Tensor SoftmaxAttentionImpl::mixed(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                          const std::optional<torch::Tensor>& padding) {
  const bool masked = padding && is_masked();
  const double dropout = is_training() ? options_.dropout : 0;
  // A causal layer with the published mask lets a token before the first real one look at itself, which ours does not.
  const bool looks_at_itself = masked && options_.causal && is_masked_as_published();
  if (ops::has_softmax_attention(q, dropout) && !looks_at_itself) {
    ops::SoftmaxAttention call{.q = q, .k = k, .v = v, .dropout = dropout};
    if (masked) call.padding = padding;
    if (is_masked_as_published()) call.padded_score = kPublishedMask;
    if (options_.causal) call.reach = ops::SoftmaxReach::causal();
    return ops::softmax_attention(call);
  }
  std::optional<torch::Tensor> looked_at;
  if (masked && options_.causal) {
    looked_at = looked_at_before(q.size(2), q.size(2), padding, q.device());
  } else if (masked) {
    looked_at = is_masked_as_published() ? published_mask(*padding, q) : looked_at_anywhere(*padding);
  }
  return at::scaled_dot_product_attention(q, k, v, looked_at, dropout, /*is_causal=*/options_.causal && !masked);
}

torch::Tensor SoftmaxAttentionImpl::forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  return output(mixed(heads(q_proj(x)), heads(k_proj(x)), heads(v_proj(x)), padding), padding);
}

ValueMap SoftmaxAttentionImpl::value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  const auto precise = [&](const torch::Tensor& y) {
    return heads(y).to(y.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  };
  return [this, q = precise(q_proj(x)), k = precise(k_proj(x)), padding](const torch::Tensor& values) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);  // it would round them
    return mixed(q, k, values, padding);
  };
}

torch::Tensor SoftmaxAttentionImpl::step(const torch::Tensor& tokens, KeyValueCache& past,
                                         const std::optional<torch::Tensor>& padding) {
  if (past.batch() != tokens.size(0)) {
    throw Error(c10::str("softmax_attention: the state is of ", past.batch(), " sequences, the tokens are of ",
                         tokens.size(0)));
  }
  const torch::NoGradGuard no_grad;
  past.append(heads(k_proj(tokens)), heads(v_proj(tokens)), is_masked() ? padding : std::nullopt);
  const int64_t rows = tokens.size(1), seen = past.tokens();
  // One token looks at all of the past, and the first tokens see nothing but each other: neither needs a mask.
  const bool first = rows == seen;
  std::optional<torch::Tensor> looked_at;
  if (past.padding() || (rows > 1 && !first)) {
    looked_at = looked_at_before(rows, seen, past.padding(), tokens.device());
  }
  return output(at::scaled_dot_product_attention(heads(q_proj(tokens)), past.keys(), past.values(), looked_at,
                                                 /*dropout_p=*/0, /*is_causal=*/first && !looked_at),
                padding);
}

namespace {

struct SoftmaxState : AttentionState {
  SoftmaxState(const AttentionOptions& options, int64_t batch, at::ScalarType of_layer)
      : past(batch), heads(options.heads), head_width(options.width / options.heads), dtype(of_layer) {}

  StateTensors tensors() const override {
    if (past.tokens() == 0) return {};
    StateTensors all{{"keys", past.keys()}, {"values", past.values()}};
    if (const auto padding = past.padding()) all["padding"] = *padding;
    return all;
  }
  void load(const StateTensors& tensors) override {
    if (tensors.empty()) return;
    const torch::Tensor keys = state_tensor(tensors, "keys", dtype, {past.batch(), heads, -1, head_width});
    std::optional<torch::Tensor> padding;
    if (tensors.contains("padding")) {
      padding = state_tensor(tensors, "padding", at::kBool, {past.batch(), keys.size(2)});
    }
    past.append(keys, state_tensor(tensors, "values", dtype, keys.sizes()), padding);
  }

  KeyValueCache past;
  int64_t heads, head_width;
  at::ScalarType dtype;
};

class SoftmaxKind : public Attention {
 public:
  explicit SoftmaxKind(const AttentionOptions& options) : Attention(options), layer_(options) {}

  std::shared_ptr<torch::nn::Module> module() const override { return layer_.ptr(); }
  bool sees_padding() const override { return Attention::sees_padding() || options().masking == Masking::published; }

  AttentionResult forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) override {
    return {layer_->forward(x, padding)};
  }

  ValueMap value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) override {
    return layer_->value_map(x, padding);
  }

  std::unique_ptr<AttentionState> initial_state(int64_t batch) const override {
    need_causal();
    return std::make_unique<SoftmaxState>(options(), batch, layer_->q_proj->weight.scalar_type());
  }

  torch::Tensor step(const torch::Tensor& tokens, AttentionState& state,
                     const std::optional<torch::Tensor>& padding) override {
    need_causal();
    return layer_->step(tokens, own_state<SoftmaxState>(state).past, padding);
  }

 private:
  SoftmaxAttention layer_;
};

}  // namespace

std::unique_ptr<Attention> make_softmax_attention(const AttentionOptions& options) {
  return std::make_unique<SoftmaxKind>(options);
}

}  // namespace primal::nn
