// torch.ops.primal_util.import_reference: import_reference for Python, with the state dict as two lists.
#include <torch/library.h>

#include <string>
#include <tuple>
#include <vector>

#include "primal/error.h"
#include "primal/import_reference.h"

namespace primal {
namespace {

using NamesAndTensors = std::tuple<std::vector<std::string>, std::vector<torch::Tensor>>;

StateDict to_state_dict(const c10::List<std::string>& names, const std::vector<torch::Tensor>& tensors) {
  TORCH_CHECK_VALUE(names.size() == tensors.size(), "import_reference: ", names.size(), " names for ", tensors.size(),
                    " tensors");
  StateDict dict;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool added = dict.emplace(names.get(i), tensors[i]).second;
    TORCH_CHECK_VALUE(added, "import_reference: key ", names.get(i), " is given twice");
  }
  return dict;
}

NamesAndTensors import_reference_op(const c10::List<std::string>& names, const std::vector<torch::Tensor>& tensors,
                                    const std::string& kind) {
  const StateDict published = to_state_dict(names, tensors);
  NamesAndTensors result;
  try {
    for (const auto& [name, tensor] : import_reference(published, kind)) {
      std::get<0>(result).push_back(name);
      std::get<1>(result).push_back(tensor);
    }
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());  // ValueError in Python
  }
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal_util, m) {
  m.def("import_reference(str[] names, Tensor[] tensors, str kind) -> (str[] names, Tensor[] tensors)",
        &import_reference_op);
}

}  // namespace primal
