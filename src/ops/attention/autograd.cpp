// Autograd of primal::attention: saves the inputs and calls the registered backward operator, on every backend.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/attention/attention.h"
#include "ops/attention/dispatch.h"
#include "ops/derivatives.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr const char* kName = "primal::attention";
constexpr size_t kFirst = 13;             // query ... out_bias; then two masks
constexpr size_t kLogScale = kFirst + 2;  // then log_scale and six switches
constexpr size_t kArguments = kLogScale + 1 + 6;
constexpr size_t kDifferentiable = kFirst + 1;

at::Tensor or_undefined(const OptionalTensor& tensor) { return tensor ? *tensor : at::Tensor(); }

OptionalTensor or_absent(const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, PRIMAL_ATTENTION_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, le, lr, tr, kept] = attention_keeping_operator().call(PRIMAL_ATTENTION_ARGUMENTS);
    ctx->save_for_backward({query, or_undefined(key), q_weight, or_undefined(q_bias), k_weight, or_undefined(k_bias),
                            we, wr, lam, score_weight, or_undefined(score_bias), out_weight, or_undefined(out_bias),
                            or_undefined(query_padding), or_undefined(key_padding), or_undefined(log_scale), kept});
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
        or_absent(s[kLogScale]),
        {data["feature_map"].toStringRef(), data["causal"].toBool(), data["data_dependent"].toBool(),
         data["respect_padding"].toBool(), data["trace_on_data"].toBool(), data["sampling"].toStringRef()}};
    const at::Tensor& kept = s[kLogScale + 1];
    variable_list result =
        attention_backward_operator().call(grads[0], grads[1], grads[2], grads[3], PRIMAL_ATTENTION_FIELDS(a),
                                           kept.dim() == 3 ? OptionalTensor(kept) : std::nullopt);
    result.insert(result.begin() + kFirst, kLogScale - kFirst, Variable());  // of the masks
    for (size_t i = 0; i < result.size(); ++i) {
      if (!s[i].defined()) result[i] = Variable();
    }
    result.resize(kArguments);
    return result;
  }
};

// In the order of the schema; undefined where there is none.
std::array<at::Tensor, kDifferentiable> differentiable(const AttentionArguments& a) {
  return {a.query,
          or_undefined(a.key),
          a.q_weight,
          or_undefined(a.q_bias),
          a.k_weight,
          or_undefined(a.k_bias),
          a.we,
          a.wr,
          a.lam,
          a.score_weight,
          or_undefined(a.score_bias),
          a.out_weight,
          or_undefined(a.out_bias),
          or_undefined(a.log_scale)};
}

bool needs_gradient(at::ArrayRef<at::Tensor> tensors) {
  return at::GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
           return tensor.defined() && tensor.requires_grad();
         });
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_autograd(PRIMAL_ATTENTION_PARAMETERS) {
  const auto tensors = differentiable(PRIMAL_ATTENTION_STRUCT);
  refuse_tangents(kName, tensors);
  if (!needs_gradient(tensors)) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return attention_operator().call(PRIMAL_ATTENTION_ARGUMENTS);
  }
  refuse_transforms(kName);
  const variable_list result = AttentionFunction::apply(PRIMAL_ATTENTION_ARGUMENTS);
  return {result[0], result[1], result[2], result[3]};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, Autograd, m) {
  m.impl("attention", attention_autograd);
  for (const char* name : {"attention_keeping", "attention_backward", "attention_scores", "attention_step"}) {
    m.impl(name, without_derivative());
  }
}

TORCH_LIBRARY_IMPL(primal, FuncTorchBatched, m) { m.impl("attention_backward", without_vmap()); }

// torch.autograd.grad(..., is_grads_batched=True) has a vmap of its own.
TORCH_LIBRARY_IMPL(primal, Batched, m) { m.impl("attention_backward", without_vmap()); }

}  // namespace primal::ops
