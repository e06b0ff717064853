// Parameters and buffers of a module by name, as files hold them.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <map>
#include <string>

namespace primal::models {

using Tensors = std::map<std::string, torch::Tensor>;

/// Parameters and buffers by name.
Tensors tensors_of(const torch::nn::Module& module);
/// The tensor NAME, which must be there, in the shape and dtype of `like`. Throws Error that `file` begins.
torch::Tensor tensor_like(const Tensors& tensors, const std::string& name, const torch::Tensor& like,
                          const std::string& file);
/// Copies values into the module. Names, shapes and dtypes must be those of the module; `file` begins the message.
void load_tensors(torch::nn::Module& module, const Tensors& tensors, const std::string& file);

}  // namespace primal::models
