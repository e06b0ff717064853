// torch.ops.primal.moving_average: schema, implementation, shapes, autocast, autograd, and the call from C++.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

#include "ops/derivatives.h"
#include "ops/moving_average/in_aten.h"
#include "ops/moving_average/scan.h"

namespace primal::ops {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using AverageResult = std::tuple<at::Tensor, at::Tensor>;
using AverageSignature = AverageResult(PRIMAL_AVERAGE_PARAMETERS);
using AverageBackwardSignature = std::vector<at::Tensor>(const at::Tensor& grad_out,
                                                         const std::optional<at::Tensor>& grad_state,
                                                         PRIMAL_AVERAGE_PARAMETERS);

constexpr const char* kAverageName = "primal::moving_average";

const c10::TypedOperatorHandle<AverageSignature>& average_operator() {
  static const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(kAverageName, "").typed<AverageSignature>();
  return handle;
}

AverageResult average_forward(PRIMAL_AVERAGE_PARAMETERS) {
  const MovingAverageArguments a{PRIMAL_AVERAGE_ARGUMENTS};
  check_moving_average(a);
  const MovingAverage result = moving_average_pass(a);
  return {result.out, result.state};
}

// x, log_scale, weight, skip, state; an absent argument gets an empty tensor.
std::vector<at::Tensor> average_backward(const at::Tensor& grad_out, const std::optional<at::Tensor>& grad_state,
                                         PRIMAL_AVERAGE_PARAMETERS) {
  const MovingAverageArguments a{PRIMAL_AVERAGE_ARGUMENTS};
  check_moving_average(a);
  TORCH_CHECK_VALUE(grad_out.sizes() == x.sizes(), "moving_average: grad_out must be ", x.sizes(), ", as x, got ",
                    grad_out.sizes());
  // Both directions have no state, and an empty tensor for it.
  const bool has_state = grad_state && a.directions() == 1;
  const std::array<int64_t, 3> state_sizes{a.batch(), a.scales(), a.width()};
  TORCH_CHECK_VALUE(
      !has_state || (grad_state->sizes() == at::IntArrayRef(state_sizes) && grad_state->scalar_type() == at::kDouble),
      "moving_average: grad_state must be float64 ", at::IntArrayRef(state_sizes), ", got ", grad_state->scalar_type(),
      " ", grad_state->sizes());
  const MovingAverageGradients g = moving_average_gradients(a, grad_out, has_state ? *grad_state : at::Tensor());
  const auto or_empty = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.contiguous() : at::empty({0}, x.options());
  };
  return {or_empty(g.x), or_empty(g.log_scale), or_empty(g.weight), or_empty(g.skip), or_empty(g.state)};
}

AverageResult average_meta(PRIMAL_AVERAGE_PARAMETERS) {
  check_moving_average({PRIMAL_AVERAGE_ARGUMENTS});
  const c10::SymInt scales = log_scale.sym_size(0) == 1 ? log_scale.sym_size(1) : c10::SymInt(0);
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint({x.sym_size(0), scales, x.sym_size(2)}, x.options().dtype(at::kDouble))};
}

std::vector<at::Tensor> average_backward_meta(const at::Tensor& /*grad_out*/,
                                              const std::optional<at::Tensor>& /*grad_state*/,
                                              PRIMAL_AVERAGE_PARAMETERS) {
  check_moving_average({PRIMAL_AVERAGE_ARGUMENTS});
  std::vector<at::Tensor> result;
  for (const std::optional<at::Tensor>& argument :
       {std::optional(x), std::optional(log_scale), std::optional(weight), skip, state}) {
    result.push_back(argument ? at::empty_symint(argument->sym_sizes(), argument->options())
                              : at::empty({0}, x.options()));
  }
  return result;
}

class AverageFunction : public torch::autograd::Function<AverageFunction> {
 public:
  static variable_list forward(AutogradContext* ctx, PRIMAL_AVERAGE_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto or_none = [](const std::optional<at::Tensor>& tensor) { return tensor.value_or(at::Tensor()); };
    ctx->save_for_backward({x, log_scale, weight, or_none(skip), or_none(padding), or_none(state)});
    ctx->set_materialize_grads(false);
    auto [out, after] = average_operator().call(PRIMAL_AVERAGE_ARGUMENTS);
    return {out, after};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    static const auto backward_operator = c10::Dispatcher::singleton()
                                              .findSchemaOrThrow("primal::moving_average_backward", "")
                                              .typed<AverageBackwardSignature>();
    const variable_list s = ctx->get_saved_variables();
    const auto optional = [](const at::Tensor& tensor) {
      return tensor.defined() ? std::optional(tensor) : std::nullopt;
    };
    const at::Tensor grad_out = grads[0].defined() ? grads[0] : at::zeros_like(s[0]);
    variable_list g = backward_operator.call(grad_out, optional(grads[1]), s[0], s[1], s[2], optional(s[3]),
                                             optional(s[4]), optional(s[5]));
    const auto of = [&](size_t saved, size_t gradient) { return s[saved].defined() ? g[gradient] : at::Tensor(); };
    return {g[0], g[1], g[2], of(3, 3), at::Tensor(), of(5, 4)};
  }
};

AverageResult average_autograd(PRIMAL_AVERAGE_PARAMETERS) {
  const std::vector<at::Tensor> tensors{x, log_scale, weight, skip.value_or(at::Tensor()),
                                        state.value_or(at::Tensor())};
  refuse_tangents(kAverageName, tensors);
  const bool needs_gradient =
      at::GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
        return tensor.defined() && tensor.requires_grad();
      });
  if (!needs_gradient) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return average_operator().call(PRIMAL_AVERAGE_ARGUMENTS);
  }
  refuse_transforms(kAverageName);
  const variable_list result = AverageFunction::apply(PRIMAL_AVERAGE_ARGUMENTS);
  return {result[0], result[1]};
}

// The tokens stay as they are; their coefficients are few, and a rounded time scale is another one.
AverageResult average_autocast(PRIMAL_AVERAGE_PARAMETERS) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCPU);
  const at::ScalarType dtype = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return average_operator().call(x, log_scale.to(dtype), weight.to(dtype),
                                 skip ? std::optional(skip->to(dtype)) : std::nullopt, padding, state);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string arguments =
      "Tensor x, Tensor log_scale, Tensor weight, Tensor? skip=None, Tensor? padding=None, Tensor? state=None";
  define("moving_average(" + arguments + ") -> (Tensor out, Tensor state)");
  define("moving_average_backward(Tensor grad_out, Tensor? grad_state, " + arguments + ") -> Tensor[]");
}

TORCH_LIBRARY_IMPL(primal, CompositeExplicitAutograd, m) {
  m.impl("moving_average", average_forward);
  m.impl("moving_average_backward", average_backward);
}

TORCH_LIBRARY_IMPL(primal, Meta, m) {
  m.impl("moving_average", average_meta);
  m.impl("moving_average_backward", average_backward_meta);
}

TORCH_LIBRARY_IMPL(primal, AutocastCPU, m) { m.impl("moving_average", average_autocast); }

TORCH_LIBRARY_IMPL(primal, Autograd, m) {
  m.impl("moving_average", average_autograd);
  m.impl("moving_average_backward", without_derivative());
}

TORCH_LIBRARY_IMPL(primal, FuncTorchBatched, m) { m.impl("moving_average_backward", without_vmap()); }

// torch.autograd.grad(..., is_grads_batched=True) has a vmap of its own.
TORCH_LIBRARY_IMPL(primal, Batched, m) { m.impl("moving_average_backward", without_vmap()); }

MovingAverage moving_average(const MovingAverageArguments& a) {
  auto [out, state] = average_operator().call(a.x, a.log_scale, a.weight, a.skip, a.padding, a.state);
  return {out, state};
}

MovingAverage moving_average_pass(const MovingAverageArguments& a) {
  return a.x.is_cpu() ? moving_average_on_cpu(a) : moving_average_in_aten(a);
}

MovingAverageGradients moving_average_gradients(const MovingAverageArguments& a, const at::Tensor& out_gradient,
                                                const at::Tensor& state_gradient) {
  MovingAverageGradients gradients = a.x.is_cpu() ? moving_average_gradients_on_cpu(a, out_gradient)
                                                  : moving_average_gradients_in_aten(a, out_gradient);
  if (state_gradient.defined()) add_state_gradient(a, state_gradient, gradients);
  return gradients;
}

}  // namespace primal::ops
