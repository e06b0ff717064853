#include "ops/derivatives.h"

#include <ATen/ATen.h>
#include <ATen/FuncTorchTLS.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

namespace primal::ops {

namespace {

using torch::jit::Stack;

std::string refusal(const std::string& operator_name, const char* what) {
  return operator_name + " has no " + what + "; use implementation=\"plain\"";
}

// Looks before it asks: the question takes a lock of the tensor. The tangent of a view may be its base's.
bool has_tangent(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta != nullptr && (meta->fw_grad_ || meta->is_view_) && tensor._fw_grad(/*level=*/0).defined();
}

// Of the topmost values of the stack, also inside lists.
std::vector<at::Tensor> tensors_of(const Stack& stack, size_t values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : torch::jit::last(stack, values)) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
    }
  }
  return tensors;
}

void call_without_derivative(const c10::OperatorHandle& op, Stack* stack) {
  const std::string& name = op.schema().name();
  const std::vector<at::Tensor> inputs = tensors_of(*stack, op.schema().arguments().size());
  refuse_tangents(name.c_str(), inputs);
  const auto needs_gradient = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  const bool tracked = at::GradMode::is_enabled() && std::any_of(inputs.begin(), inputs.end(), needs_gradient);
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    op.callBoxed(stack);
  }
  if (!tracked) return;
  const char* what = name.ends_with("_backward") ? "second derivative" : "derivative";
  const auto node =
      c10::make_intrusive<torch::autograd::Error>(refusal(name, what), torch::autograd::collect_next_edges(inputs));
  for (const at::Tensor& result : tensors_of(*stack, op.schema().returns().size())) {
    if (at::isFloatingType(result.scalar_type())) torch::autograd::set_history(result, node);  // counts have none
  }
}

void refuse_vmap(const c10::OperatorHandle& op, Stack* /*stack*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, refusal(op.schema().name(), "vmap"));
}

// The state answers by throwing.
bool inside_transform() {
  const auto& state = at::functorch::functorchTLSAccessor();
  if (state == nullptr) return false;
  try {
    state->checkSupportsCppAutogradFunction();
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

}  // namespace

void refuse_tangents(const char* operator_name, at::ArrayRef<at::Tensor> tensors) {
  TORCH_CHECK_NOT_IMPLEMENTED(std::none_of(tensors.begin(), tensors.end(), has_tangent),
                              refusal(operator_name, "forward-mode derivative"));
}

void refuse_transforms(const char* operator_name) {
  TORCH_CHECK_NOT_IMPLEMENTED(!inside_transform(), refusal(operator_name, "transform of torch.func (grad, vjp, ...)"));
}

torch::CppFunction without_derivative() {
  return torch::CppFunction::makeFromBoxedFunction<&call_without_derivative>();
}

torch::CppFunction without_vmap() { return torch::CppFunction::makeFromBoxedFunction<&refuse_vmap>(); }

}  // namespace primal::ops
