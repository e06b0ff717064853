// torch.ops.primal_util.load_safetensors / save_safetensors: the reader and the writer for Python.
// Metadata travel as a flat list, key, value, key, value, ...: a schema's dictionary has no order.
#include <primal/error.h>
#include <primal/safetensors.h>
#include <torch/library.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"

namespace primal {
namespace {

using Strings = std::vector<std::string>;

/// Runs `work`; a primal::Error reaches Python as ValueError.
template <typename Work>
auto with_value_errors(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

std::tuple<Strings, std::vector<at::Tensor>, Strings> load_op(const std::string& path) {
  SafetensorsFile file = with_value_errors([&] { return load_safetensors(path); });
  Strings names, metadata;
  std::vector<at::Tensor> tensors;
  for (auto& [name, tensor] : file.tensors) {
    names.push_back(name);
    tensors.push_back(std::move(tensor));
  }
  for (const auto& [key, value] : file.metadata) {
    metadata.push_back(key);
    metadata.push_back(value);
  }
  return {std::move(names), std::move(tensors), std::move(metadata)};
}

void save_op(const std::string& path, const Strings& names, at::TensorList tensors, const Strings& metadata) {
  TORCH_CHECK_VALUE(names.size() == tensors.size(), path, ": ", names.size(), " names for ", tensors.size(),
                    " tensors");
  TORCH_CHECK_VALUE(metadata.size() % 2 == 0, path, ": metadata must be pairs of key and value, got ", metadata.size(),
                    " strings");
  std::map<std::string, at::Tensor> by_name;
  for (std::size_t i = 0; i < names.size(); ++i) {
    TORCH_CHECK_VALUE(by_name.emplace(names[i], tensors[i]).second, path, ": tensor ", base::in_quotes(names[i]),
                      " is given twice");
  }
  std::map<std::string, std::string> by_key;
  for (std::size_t i = 0; i < metadata.size(); i += 2) {
    TORCH_CHECK_VALUE(by_key.emplace(metadata[i], metadata[i + 1]).second, path, ": metadata ",
                      base::in_quotes(metadata[i]), " are given twice");
  }
  with_value_errors([&] { save_safetensors(path, by_name, by_key); });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal_util, m) {
  m.def("load_safetensors(str path) -> (str[] names, Tensor[] tensors, str[] metadata)", &load_op);
  m.def("save_safetensors(str path, str[] names, Tensor[] tensors, str[] metadata) -> ()", &save_op);
}

}  // namespace primal
