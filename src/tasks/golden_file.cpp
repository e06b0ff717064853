#include "tasks/golden_file.h"

#include <ATen/ATen.h>

#include <string_view>

#include "base/text.h"
#include "primal/import_reference.h"

namespace primal::tasks {

namespace {

// It adds the same to all scores of a row. Where it is a part of a published tensor, a file cannot name it.
bool is_softmax_key_bias(const std::string& name, const Tensors& parameters) {
  constexpr std::string_view key = "k_proj.bias", value = "v_proj.bias";
  if (!name.ends_with(key)) return false;
  return parameters.contains(name.substr(0, name.size() - key.size()).append(value));
}

}  // namespace

void GoldenFile::fail(const std::string& message) const { throw Error(path.string() + ": " + message); }

const std::string& GoldenFile::text(const std::string& metadata_key) const {
  const auto found = content.metadata.find(metadata_key);
  if (found == content.metadata.end()) fail("no \"" + metadata_key + "\" in the metadata");
  return found->second;
}

const at::Tensor& GoldenFile::tensor(const std::string& name) const {
  const auto found = content.tensors.find(name);
  if (found == content.tensors.end()) fail("no tensor \"" + name + "\"");
  return found->second;
}

Tensors GoldenFile::with_prefix(const std::string& prefix) const {
  Tensors result;
  for (const auto& [name, value] : content.tensors) {
    if (name.starts_with(prefix)) result[name.substr(prefix.size())] = value;
  }
  return result;
}

Tensors GoldenFile::gradients(const std::string& kind) const {
  Tensors published = with_prefix("grad.");
  Tensors result;
  if (const auto x = published.extract("x")) result["grad.x"] = x.mapped();
  for (const auto& [name, value] : import_reference(published, kind)) result["grad." + name] = value;
  return result;
}

std::set<std::string> GoldenFile::zero_gradients(const std::string& kind) const {
  // import_reference renames whole networks only: ones stand for the gradients that are sought, zeros for the others.
  Tensors published = with_prefix("grad.");
  published.erase("x");
  if (published.empty()) return {};
  for (auto& [name, value] : published) value = at::zeros_like(value);
  if (has("zero_gradients")) {
    for (const std::string& name : base::split_at_commas(text("zero_gradients"))) {
      const auto found = published.find(name);
      if (found == published.end()) fail("zero_gradients names " + name + ", of which there is no gradient");
      found->second = at::ones_like(found->second);
    }
  }
  const Tensors ours = import_reference(published, kind);
  std::set<std::string> result;
  for (const auto& [name, value] : ours) {
    if (value.any().item<bool>() || is_softmax_key_bias(name, ours)) result.insert("grad." + name);
  }
  return result;
}

void GoldenFile::load_parameters(torch::nn::Module& module, const std::string& prefix, const std::string& kind) const {
  const torch::NoGradGuard no_grad;
  const Tensors values = import_reference(with_prefix(prefix), kind);
  for (auto& item : module.named_parameters()) {
    const auto value = values.find(item.key());
    if (value == values.end()) fail("no parameter " + item.key() + ", which the metadata asks for");
    if (value->second.sizes() != item.value().sizes()) {
      fail(c10::str("parameter ", item.key(), " has shape ", value->second.sizes(), ", the metadata asks for ",
                    item.value().sizes()));
    }
    item.value().copy_(value->second);
  }
}

Tensors gradients_of(const torch::nn::Module& module, const at::Tensor& x) {
  Tensors result;
  if (x.defined()) result["grad.x"] = x.grad();
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& gradient = item.value().grad();
    result["grad." + item.key()] = gradient.defined() ? gradient : at::zeros_like(item.value());
  }
  return result;
}

}  // namespace primal::tasks
