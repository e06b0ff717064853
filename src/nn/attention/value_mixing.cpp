#include "nn/attention/value_mixing.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "primal/error.h"

namespace primal::nn {

namespace {

at::ScalarType precise_type(const torch::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Products inside a mixing keep the precision of its heads, where autocast would round them again.
struct NoAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::autocast_dispatch_keyset};
};

}  // namespace

torch::Tensor ValueMixing::step(torch::nn::Module& /*module*/, const Heads& /*heads*/, Past& /*past*/,
                                const std::optional<torch::Tensor>& /*padding*/) const {
  throw Error("attention: this kind cannot decode token by token");
}

MixedValuesImpl::MixedValuesImpl(AttentionOptions options, std::shared_ptr<const ValueMixing> mixing)
    : options_(std::move(options)), mixing_(std::move(mixing)) {
  check_options(options_.kind.c_str(), options_);
  reset();
}

void MixedValuesImpl::reset() {
  const auto linear = [&](const char* name, bool bias) {
    return register_module(name,
                           torch::nn::Linear(torch::nn::LinearOptions(options_.width, options_.width).bias(bias)));
  };
  const bool input_bias = options_.bias && mixing_->has_input_biases();
  q_proj = linear("q_proj", input_bias);
  if (mixing_->has_keys()) k_proj = linear("k_proj", input_bias);
  v_proj = linear("v_proj", input_bias);
  out_proj = linear("out_proj", options_.bias);
  mixing_->add_parameters(*this);
}

Heads MixedValuesImpl::heads(const torch::Tensor& x) {
  const auto split = [&](const torch::Tensor& y) {
    return y.view({y.size(0), y.size(1), options_.heads, options_.width / options_.heads})
        .transpose(1, 2)
        .to(precise_type(y));
  };
  const torch::Tensor q = split(q_proj(x));
  return {.q = q, .k = mixing_->has_keys() ? split(k_proj(x)) : q, .v = split(v_proj(x))};
}

std::optional<torch::Tensor> MixedValuesImpl::counted(const std::optional<torch::Tensor>& padding) const {
  const bool counts = options_.padding == Padding::respect || options_.masking == Masking::published;
  return counts ? padding : std::nullopt;
}

// mixed: [B, H, N, d]; x: the input of the layer
torch::Tensor MixedValuesImpl::output(const torch::Tensor& mixed, const torch::Tensor& x,
                                      const std::optional<torch::Tensor>& padding) {
  const torch::Tensor merged = mixed.transpose(1, 2).reshape(x.sizes()).to(x.scalar_type());
  if (!padding || options_.masking == Masking::published) return out_proj(merged);
  const torch::Tensor padded = padding->unsqueeze(-1);
  return options_.padding == Padding::respect ? out_proj(merged).masked_fill(padded, 0)
                                              : out_proj(merged.masked_fill(padded, 0));
}

torch::Tensor MixedValuesImpl::mixed(const Heads& heads, const std::optional<torch::Tensor>& padding) {
  const NoAutocast precise_products;
  return mixing_->mix(*this, heads, counted(padding));
}

torch::Tensor MixedValuesImpl::forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  return output(mixed(heads(x), padding), x, padding);
}

ValueMap MixedValuesImpl::value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  return [this, parts = heads(x), padding](const torch::Tensor& values) {
    return mixed({.q = parts.q, .k = parts.k, .v = values}, padding);
  };
}

torch::Tensor MixedValuesImpl::step(const torch::Tensor& tokens, Past& past,
                                    const std::optional<torch::Tensor>& padding) {
  const torch::NoGradGuard no_grad;
  const Heads parts = heads(tokens);
  Past after = past;  // moved on only when all went well
  const auto mixed = [&] {
    const NoAutocast precise_products;
    return mixing_->step(*this, parts, after, counted(padding));
  }();
  const torch::Tensor out = output(mixed, tokens, padding);
  past = std::move(after);
  return out;
}

namespace {

struct MixingState : AttentionState {
  MixingState(std::string of_kind, int64_t of_sequences) : kind(std::move(of_kind)), batch(of_sequences) {}

  StateTensors tensors() const override {
    StateTensors all;
    for (size_t i = 0; i < past.size(); ++i) all["past." + std::to_string(i)] = past[i];
    return all;
  }
  // What a kind keeps is its own affair, but every part of it has a row per sequence.
  void load(const StateTensors& tensors) override {
    past.clear();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = "past." + std::to_string(i);
      const auto found = tensors.find(name);
      if (found == tensors.end()) throw Error("the state has no tensor " + name);
      std::vector<int64_t> sizes(static_cast<size_t>(found->second.dim()), -1);
      if (!sizes.empty()) sizes.front() = batch;
      past.push_back(state_tensor(tensors, name, found->second.scalar_type(), sizes));
    }
  }

  std::string kind;
  int64_t batch;
  Past past;
};

class ValueMixingAttention : public Attention {
 public:
  ValueMixingAttention(const AttentionOptions& options, std::shared_ptr<const ValueMixing> mixing)
      : Attention(options), mixing_(mixing), layer_(options, std::move(mixing)) {}

  std::shared_ptr<torch::nn::Module> module() const override { return layer_.ptr(); }

  AttentionResult forward(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) override {
    return {layer_->forward(x, padding)};
  }

  ValueMap value_map(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) override {
    return layer_->value_map(x, padding);
  }

  std::unique_ptr<AttentionState> initial_state(int64_t batch) const override {
    need_causal();
    return std::make_unique<MixingState>(options().kind, batch);
  }

  torch::Tensor step(const torch::Tensor& tokens, AttentionState& state,
                     const std::optional<torch::Tensor>& padding) override {
    need_causal();
    auto& own = own_state<MixingState>(state);
    if (own.kind != options().kind) fail("the state was made by another kind of attention");
    if (own.batch != tokens.size(0)) {
      fail(c10::str("the state is of ", own.batch, " sequences, the tokens are of ", tokens.size(0)));
    }
    return layer_->step(tokens, own.past, padding);
  }

  std::optional<int64_t> most_tokens() const override { return mixing_->most_tokens(); }

  // The published masking treats padded tokens as queries like any other.
  bool sees_padding() const override { return Attention::sees_padding() || options().masking == Masking::published; }

 private:
  std::shared_ptr<const ValueMixing> mixing_;
  MixedValues layer_;
};

}  // namespace

std::unique_ptr<Attention> make_value_mixing_attention(const AttentionOptions& options,
                                                       std::shared_ptr<const ValueMixing> mixing) {
  return std::make_unique<ValueMixingAttention>(options, std::move(mixing));
}

void refuse_causal(const char* kind, const AttentionOptions& options) {
  if (options.causal) throw Error(c10::str(kind, "_attention: this kind has no causal form"));
}

torch::Tensor tensor_of(const torch::nn::Module& module, const char* name) {
  const auto parameters = module.named_parameters();
  if (const torch::Tensor* found = parameters.find(name)) return *found;
  return module.named_buffers()[name];
}

torch::Tensor cleared(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  return padding ? x.masked_fill(padding->unsqueeze(1).unsqueeze(-1), 0) : x;
}

torch::Tensor token_counts(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  if (!padding) return at::full({x.size(0), 1, 1, 1}, x.size(2), x.options());
  return padding->logical_not().sum(1).to(x.scalar_type()).view({-1, 1, 1, 1});
}

}  // namespace primal::nn
