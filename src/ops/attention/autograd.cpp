// Autograd of primal::attention: saves the inputs and calls the registered backward operator, on every backend.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/attention/attention.h"
#include "ops/attention/dispatch.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr size_t kDifferentiable = 13;  // query ... out_bias; then two masks and six switches
constexpr size_t kArguments = kDifferentiable + 2 + 6;

at::Tensor or_undefined(const OptionalTensor& tensor) { return tensor ? *tensor : at::Tensor(); }

OptionalTensor or_absent(const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, PRIMAL_ATTENTION_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, le, lr, tr, kept] = attention_keeping_operator().call(PRIMAL_ATTENTION_ARGUMENTS);
    ctx->save_for_backward({query, or_undefined(key), q_weight, or_undefined(q_bias), k_weight, or_undefined(k_bias),
                            we, wr, lam, score_weight, or_undefined(score_bias), out_weight, or_undefined(out_bias),
                            or_undefined(query_padding), or_undefined(key_padding), kept});
    ctx->saved_data["feature_map"] = feature_map;
    ctx->saved_data["causal"] = causal;
    ctx->saved_data["data_dependent"] = data_dependent;
    ctx->saved_data["respect_padding"] = respect_padding;
    ctx->saved_data["trace_on_data"] = trace_on_data;
    ctx->saved_data["sampling"] = sampling;
    return {out, le, lr, tr};
  }

  // Gradients of outputs that the loss does not use arrive as zeros (set_materialize_grads is on by default).
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list s = ctx->get_saved_variables();
    auto& data = ctx->saved_data;
    const AttentionArguments a{
        s[0],
        or_absent(s[1]),
        s[2],
        or_absent(s[3]),
        s[4],
        or_absent(s[5]),
        s[6],
        s[7],
        s[8],
        s[9],
        or_absent(s[10]),
        s[11],
        or_absent(s[12]),
        or_absent(s[13]),
        or_absent(s[14]),
        {data["feature_map"].toStringRef(), data["causal"].toBool(), data["data_dependent"].toBool(),
         data["respect_padding"].toBool(), data["trace_on_data"].toBool(), data["sampling"].toStringRef()}};
    variable_list result =
        attention_backward_operator().call(grads[0], grads[1], grads[2], grads[3], PRIMAL_ATTENTION_FIELDS(a),
                                           s[15].dim() == 3 ? OptionalTensor(s[15]) : std::nullopt);
    for (size_t i = 0; i < kDifferentiable; ++i) {
      if (!s[i].defined()) result[i] = Variable();
    }
    result.resize(kArguments);
    return result;
  }
};

bool needs_gradient(const AttentionArguments& a) {
  if (!at::GradMode::is_enabled()) return false;
  const auto needs = [](const OptionalTensor& tensor) { return tensor && tensor->requires_grad(); };
  for (const at::Tensor* tensor :
       {&a.query, &a.q_weight, &a.k_weight, &a.we, &a.wr, &a.lam, &a.score_weight, &a.out_weight}) {
    if (tensor->requires_grad()) return true;
  }
  return needs(a.key) || needs(a.q_bias) || needs(a.k_bias) || needs(a.score_bias) || needs(a.out_bias);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_autograd(PRIMAL_ATTENTION_PARAMETERS) {
  if (!needs_gradient(PRIMAL_ATTENTION_STRUCT)) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return attention_operator().call(PRIMAL_ATTENTION_ARGUMENTS);
  }
  const variable_list result = AttentionFunction::apply(PRIMAL_ATTENTION_ARGUMENTS);
  return {result[0], result[1], result[2], result[3]};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, Autograd, m) {
  m.impl("attention", attention_autograd);
  m.impl("attention_keeping", torch::autograd::autogradNotImplementedFallback());
  m.impl("attention_backward", torch::autograd::autogradNotImplementedFallback());
  m.impl("attention_scores", torch::autograd::autogradNotImplementedFallback());
  m.impl("attention_step", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace primal::ops
