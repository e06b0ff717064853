#include "models/module_tensors.h"

#include <ATen/ATen.h>

#include "primal/error.h"

namespace primal::models {

Tensors tensors_of(const torch::nn::Module& module) {
  Tensors tensors;
  for (const auto& parameter : module.named_parameters()) tensors[parameter.key()] = parameter.value().detach();
  for (const auto& buffer : module.named_buffers()) tensors[buffer.key()] = buffer.value();
  return tensors;
}

torch::Tensor tensor_like(const Tensors& tensors, const std::string& name, const torch::Tensor& like,
                          const std::string& file) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw Error(file + ": tensor " + name + " is missing");
  const torch::Tensor& tensor = found->second;
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw Error(c10::str(file, ": tensor ", name, " is ", tensor.scalar_type(), " ", tensor.sizes(),
                         ", the model needs ", like.scalar_type(), " ", like.sizes()));
  }
  return tensor;
}

void load_tensors(torch::nn::Module& module, const Tensors& tensors, const std::string& file) {
  const Tensors own = tensors_of(module);
  for (const auto& [name, tensor] : tensors) {
    if (!own.contains(name)) throw Error(file + ": tensor " + name + " is not part of this model");
  }
  for (const auto& [name, tensor] : own) tensor_like(tensors, name, tensor, file);
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) tensor.copy_(tensors.at(name));
}

}  // namespace primal::models
