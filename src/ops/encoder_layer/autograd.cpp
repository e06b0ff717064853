// Autograd of primal::encoder_layer, and the call from C++.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/attention/dispatch.h"
#include "ops/derivatives.h"
#include "ops/encoder_layer/arguments.h"
#include "ops/encoder_layer/encoder_layer.h"
#include "ops/fused/attention.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

using ForwardSignature = FourTensors(PRIMAL_ENCODER_PARAMETERS);
using KeepingSignature = FiveTensors(PRIMAL_ENCODER_PARAMETERS);
using BackwardSignature = std::vector<at::Tensor>(const at::Tensor& grad_out, const at::Tensor& grad_le,
                                                  const at::Tensor& grad_lr, const at::Tensor& grad_tr,
                                                  const at::Tensor& kept, PRIMAL_ENCODER_PARAMETERS);

constexpr const char* kName = "primal::encoder_layer";

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

const c10::TypedOperatorHandle<ForwardSignature>& forward_operator() {
  static const auto handle = find<ForwardSignature>(kName);
  return handle;
}

class EncoderLayerFunction : public torch::autograd::Function<EncoderLayerFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, PRIMAL_ENCODER_PARAMETERS) {
    static const auto keeping = find<KeepingSignature>("primal::encoder_layer_keeping");
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, le, lr, tr, kept] = keeping.call(PRIMAL_ENCODER_ARGUMENTS);
    const auto or_none = [](const OptionalTensor& tensor) { return tensor ? *tensor : at::Tensor(); };
    variable_list saved{
        x, kept, or_none(padding), or_none(unread), or_none(seeds), or_none(attended), or_none(log_scale)};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["data_dependent"] = data_dependent;
    ctx->saved_data["respect_padding"] = respect_padding;
    ctx->saved_data["trace_on_data"] = trace_on_data;
    ctx->saved_data["sampling"] = sampling;
    ctx->saved_data["norm_first"] = norm_first;
    ctx->saved_data["activation"] = activation;
    ctx->saved_data["epsilon"] = epsilon;
    ctx->saved_data["dropout"] = dropout;
    ctx->saved_data["recompute"] = recompute;
    ctx->saved_data["causal"] = causal;
    return {out, le, lr, tr};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    static const auto backward_operator = find<BackwardSignature>("primal::encoder_layer_backward");
    const variable_list s = ctx->get_saved_variables();
    auto& data = ctx->saved_data;
    const variable_list parameters(s.begin() + 7, s.end());
    const auto optional = [&](size_t i) { return s[i].defined() ? OptionalTensor(s[i]) : std::nullopt; };
    variable_list result = backward_operator.call(
        grads[0], grads[1], grads[2], grads[3], s[1], s[0], parameters, optional(2), optional(3),
        data["data_dependent"].toBool(), data["respect_padding"].toBool(), data["trace_on_data"].toBool(),
        data["sampling"].toStringRef(), data["norm_first"].toBool(), data["activation"].toStringRef(),
        data["epsilon"].toDouble(), data["dropout"].toDouble(), optional(4), data["recompute"].toBool(), optional(5),
        data["causal"].toBool(), optional(6));
    const auto take_last = [&](size_t i) {
      if (!s[i].defined()) return at::Tensor();
      at::Tensor last = result.back();
      result.pop_back();
      return last;
    };
    const at::Tensor of_log_scale = take_last(6), of_attended = take_last(5);
    result.resize(1 + kEncoderParameters + 12);  // two masks and ten switches have none
    result.insert(result.end(), {of_attended, /*causal=*/at::Tensor(), of_log_scale});
    return result;
  }
};

FourTensors encoder_layer_autograd(PRIMAL_ENCODER_PARAMETERS) {
  refuse_tangents(kName, parameters);
  variable_list others{x};
  for (const OptionalTensor& tensor : {attended, log_scale}) {
    if (tensor) others.push_back(*tensor);
  }
  refuse_tangents(kName, others);
  const auto any_requires_grad = [](at::TensorList tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& t) { return t.requires_grad(); });
  };
  if (!at::GradMode::is_enabled() || !(any_requires_grad(others) || any_requires_grad(parameters))) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return forward_operator().call(PRIMAL_ENCODER_ARGUMENTS);
  }
  refuse_transforms(kName);
  const variable_list result = EncoderLayerFunction::apply(PRIMAL_ENCODER_ARGUMENTS);
  return {result[0], result[1], result[2], result[3]};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, Autograd, m) {
  m.impl("encoder_layer", encoder_layer_autograd);
  for (const char* name : {"encoder_layer_keeping", "encoder_layer_backward"}) m.impl(name, without_derivative());
}

TORCH_LIBRARY_IMPL(primal, FuncTorchBatched, m) {
  for (const char* name : {"encoder_layer", "encoder_layer_keeping", "encoder_layer_backward"}) {
    m.impl(name, without_vmap());
  }
}

// torch.autograd.grad(..., is_grads_batched=True) has a vmap of its own.
TORCH_LIBRARY_IMPL(primal, Batched, m) { m.impl("encoder_layer_backward", without_vmap()); }

bool has_encoder_layer(const AttentionArguments& attention) { return fused::can_run(attention); }

AttentionResult encoder_layer(const AttentionArguments& a, const EncoderLayerParameters& p,
                              const EncoderLayerSwitches& switches, const OptionalTensor& unread,
                              const OptionalTensor& attended) {
  const auto bias = [&](const OptionalTensor& tensor) { return tensor ? *tensor : at::empty({0}, a.query.options()); };
  const variable_list parameters{a.q_weight,
                                 bias(a.q_bias),
                                 a.k_weight,
                                 bias(a.k_bias),
                                 a.we,
                                 a.wr,
                                 a.lam,
                                 a.score_weight,
                                 bias(a.score_bias),
                                 a.out_weight,
                                 bias(a.out_bias),
                                 p.norm1_weight,
                                 p.norm1_bias,
                                 p.norm2_weight,
                                 p.norm2_bias,
                                 p.linear1_weight,
                                 p.linear1_bias,
                                 p.linear2_weight,
                                 p.linear2_bias};
  const OptionalTensor seeds =
      switches.dropout == 0 ? OptionalTensor() : at::tensor(at::IntArrayRef(switches.seeds), at::kLong);
  auto [out, le, lr, tr] = forward_operator().call(
      a.query, parameters, a.query_padding, unread, a.mode.data_dependent, a.mode.respect_padding, a.mode.trace_on_data,
      a.mode.sampling, switches.norm_first, switches.activation, switches.epsilon, switches.dropout, seeds,
      switches.recompute, attended, a.mode.causal, a.log_scale);
  return {out, le, lr, tr};
}

}  // namespace primal::ops
