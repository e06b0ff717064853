// What the operators cannot do, refused in one way: forward mode, torch.func transforms, derivatives of derivatives.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/library.h>

namespace primal::ops {

/// Throws a NotImplementedError when one of the tensors carries a tangent: an operator would drop it without a word.
void refuse_tangents(const char* operator_name, at::ArrayRef<at::Tensor> tensors);

/// Throws a NotImplementedError inside a transform of torch.func, which cannot look into a C++ autograd function.
void refuse_transforms(const char* operator_name);

/// Autograd kernel of an operator without a derivative: tangents are an error at once, a gradient is one when it is
/// asked for.
torch::CppFunction without_derivative();

/// Kernel for vmap of an operator whose arguments or results PyTorch cannot batch by itself.
torch::CppFunction without_vmap();

}  // namespace primal::ops
