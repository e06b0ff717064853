// torch.ops.primal_util.feature_width: what Python needs to know of a feature map to size its parameters.
#include <torch/library.h>

#include "primal/error.h"
#include "primal/feature_map.h"

namespace primal::ops {

namespace {

int64_t feature_width(const std::string& name, int64_t head_width) {
  try {
    return find_feature_map(name)->width(head_width);
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal_util, m) { m.def("feature_width(str name, int head_width) -> int", feature_width); }

}  // namespace primal::ops
