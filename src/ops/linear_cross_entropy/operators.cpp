// torch.ops.primal.linear_cross_entropy: schema, implementation, shapes, autocast, autograd, and the call from C++.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <array>
#include <string>
#include <tuple>

#include "ops/derivatives.h"
#include "ops/linear_cross_entropy/pass.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

#define PRIMAL_ENTROPY_PARAMETERS                                                                      \
  const at::Tensor &hidden, const at::Tensor &weight, const at::Tensor &targets, int64_t ignore_index, \
      double label_smoothing

#define PRIMAL_ENTROPY_ARGUMENTS hidden, weight, targets, ignore_index, label_smoothing

using EntropyResult = std::tuple<at::Tensor, at::Tensor>;
using EntropySignature = EntropyResult(PRIMAL_ENTROPY_PARAMETERS);
using EntropyKeepingResult = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using EntropyKeepingSignature = EntropyKeepingResult(PRIMAL_ENTROPY_PARAMETERS, bool for_hidden, bool for_weight);
using EntropyBackwardSignature = EntropyResult(const at::Tensor& grad_sum, const at::Tensor& hidden_gradient,
                                               const at::Tensor& weight_gradient, const at::Tensor& hidden,
                                               const at::Tensor& weight);

constexpr const char* kEntropyName = "primal::linear_cross_entropy";

template <typename Signature>
c10::TypedOperatorHandle<Signature> entropy_handle(const char* suffix) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string(kEntropyName) + suffix).c_str(), "")
      .typed<Signature>();
}

const c10::TypedOperatorHandle<EntropySignature>& entropy_operator() {
  static const auto handle = entropy_handle<EntropySignature>("");
  return handle;
}

EntropyResult entropy_forward(PRIMAL_ENTROPY_PARAMETERS) {
  const LinearCrossEntropy a{PRIMAL_ENTROPY_ARGUMENTS};
  check_linear_cross_entropy(a);
  const LinearCrossEntropyPass result = linear_cross_entropy_pass(a, {});
  return {result.sum, result.nll};
}

// A gradient that is not wanted is an empty tensor.
EntropyKeepingResult entropy_keeping(PRIMAL_ENTROPY_PARAMETERS, bool for_hidden, bool for_weight) {
  const LinearCrossEntropy a{PRIMAL_ENTROPY_ARGUMENTS};
  check_linear_cross_entropy(a);
  const LinearCrossEntropyPass result = linear_cross_entropy_pass(a, {for_hidden, for_weight});
  const auto or_empty = [](const at::Tensor& gradient, const at::Tensor& of) {
    return gradient.defined() ? gradient : at::empty({0}, of.options());
  };
  return {result.sum, result.nll, or_empty(result.hidden_gradient, hidden), or_empty(result.weight_gradient, weight)};
}

// The kept gradients stay as they are: the graph may be run backward again. hidden and weight are there for autograd
// alone, which otherwise would not know that second derivatives are missing.
EntropyResult entropy_backward(const at::Tensor& grad_sum, const at::Tensor& hidden_gradient,
                               const at::Tensor& weight_gradient, const at::Tensor& /*hidden*/,
                               const at::Tensor& /*weight*/) {
  const auto times = [&](const at::Tensor& gradient) { return gradient * grad_sum.to(gradient.scalar_type()); };
  return {times(hidden_gradient), times(weight_gradient)};
}

at::ScalarType dtype_of_loss(const at::Tensor& hidden) {
  return hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

EntropyResult entropy_meta(PRIMAL_ENTROPY_PARAMETERS) {
  check_linear_cross_entropy({PRIMAL_ENTROPY_ARGUMENTS});
  const auto options = hidden.options().dtype(dtype_of_loss(hidden));
  return {at::empty({}, options), at::empty_symint(targets.sym_sizes(), options)};
}

EntropyKeepingResult entropy_keeping_meta(PRIMAL_ENTROPY_PARAMETERS, bool for_hidden, bool for_weight) {
  auto [sum, nll] = entropy_meta(PRIMAL_ENTROPY_ARGUMENTS);
  const auto like = [](bool wanted, const at::Tensor& of) {
    return wanted ? at::empty_symint(of.sym_sizes(), of.options()) : at::empty({0}, of.options());
  };
  return {sum, nll, like(for_hidden, hidden), like(for_weight, weight)};
}

EntropyResult entropy_backward_meta(const at::Tensor& /*grad_sum*/, const at::Tensor& hidden_gradient,
                                    const at::Tensor& weight_gradient, const at::Tensor& /*hidden*/,
                                    const at::Tensor& /*weight*/) {
  const auto like = [](const at::Tensor& of) { return at::empty_symint(of.sym_sizes(), of.options()); };
  return {like(hidden_gradient), like(weight_gradient)};
}

class EntropyFunction : public torch::autograd::Function<EntropyFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, PRIMAL_ENTROPY_PARAMETERS) {
    static const auto keeping = entropy_handle<EntropyKeepingSignature>("_keeping");
    const bool for_hidden = hidden.requires_grad(), for_weight = weight.requires_grad();
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [sum, nll, hidden_gradient, weight_gradient] = keeping.call(PRIMAL_ENTROPY_ARGUMENTS, for_hidden, for_weight);
    ctx->save_for_backward({hidden_gradient, weight_gradient, hidden, weight});
    ctx->saved_data["for_hidden"] = for_hidden;
    ctx->saved_data["for_weight"] = for_weight;
    ctx->mark_non_differentiable({nll});
    return {sum, nll};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    static const auto backward_operator = entropy_handle<EntropyBackwardSignature>("_backward");
    const variable_list s = ctx->get_saved_variables();
    auto [hidden, weight] = backward_operator.call(grads[0], s[0], s[1], s[2], s[3]);
    return {ctx->saved_data["for_hidden"].toBool() ? hidden : at::Tensor(),
            ctx->saved_data["for_weight"].toBool() ? weight : at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

EntropyResult entropy_autograd(PRIMAL_ENTROPY_PARAMETERS) {
  refuse_tangents(kEntropyName, {hidden, weight});
  if (!at::GradMode::is_enabled() || !(hidden.requires_grad() || weight.requires_grad())) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return entropy_operator().call(PRIMAL_ENTROPY_ARGUMENTS);
  }
  refuse_transforms(kEntropyName);
  const variable_list result = EntropyFunction::apply(PRIMAL_ENTROPY_ARGUMENTS);
  return {result[0], result[1]};
}

// A loss keeps the digits it is given: nothing is rounded to the autocast dtype.
EntropyResult entropy_autocast(PRIMAL_ENTROPY_PARAMETERS) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCPU);
  const at::ScalarType dtype = dtype_of_loss(hidden);
  return entropy_operator().call(hidden, weight.to(dtype), targets, ignore_index, label_smoothing);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string tensors = "Tensor hidden, Tensor weight, Tensor targets, ";
  define("linear_cross_entropy(" + tensors +
         "int ignore_index=-100, float label_smoothing=0.0) -> (Tensor sum, Tensor nll)");
  define("linear_cross_entropy_keeping(" + tensors +
         "int ignore_index, float label_smoothing, bool for_hidden, bool for_weight) -> "
         "(Tensor sum, Tensor nll, Tensor hidden_gradient, Tensor weight_gradient)");
  define(
      "linear_cross_entropy_backward(Tensor grad_sum, Tensor hidden_gradient, Tensor weight_gradient, Tensor hidden, "
      "Tensor weight) -> (Tensor hidden, Tensor weight)");
}

TORCH_LIBRARY_IMPL(primal, CompositeExplicitAutograd, m) {
  m.impl("linear_cross_entropy", entropy_forward);
  m.impl("linear_cross_entropy_keeping", entropy_keeping);
  m.impl("linear_cross_entropy_backward", entropy_backward);
}

TORCH_LIBRARY_IMPL(primal, Meta, m) {
  m.impl("linear_cross_entropy", entropy_meta);
  m.impl("linear_cross_entropy_keeping", entropy_keeping_meta);
  m.impl("linear_cross_entropy_backward", entropy_backward_meta);
}

TORCH_LIBRARY_IMPL(primal, AutocastCPU, m) { m.impl("linear_cross_entropy", entropy_autocast); }

TORCH_LIBRARY_IMPL(primal, Autograd, m) {
  m.impl("linear_cross_entropy", entropy_autograd);
  m.impl("linear_cross_entropy_keeping", without_derivative());
  m.impl("linear_cross_entropy_backward", without_derivative());
}

TORCH_LIBRARY_IMPL(primal, FuncTorchBatched, m) { m.impl("linear_cross_entropy_backward", without_vmap()); }

// torch.autograd.grad(..., is_grads_batched=True) has a vmap of its own.
TORCH_LIBRARY_IMPL(primal, Batched, m) { m.impl("linear_cross_entropy_backward", without_vmap()); }

LinearCrossEntropyLoss linear_cross_entropy(const LinearCrossEntropy& a) {
  auto [sum, nll] = entropy_operator().call(a.hidden, a.weight, a.targets, a.ignore_index, a.label_smoothing);
  return {sum, nll};
}

}  // namespace primal::ops
