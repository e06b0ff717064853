#include <ATen/ATen.h>

#include <vector>

#include "ops/moving_average/arguments.h"

namespace primal::ops {

namespace {

void check_average_size(const at::Tensor& tensor, const char* name, const char* form,
                        const std::vector<c10::SymInt>& expected) {
  const auto sizes = tensor.sym_sizes();
  bool equal = sizes.size() == expected.size();
  for (size_t i = 0; equal && i < expected.size(); ++i) equal = TORCH_GUARD_OR_TRUE(sizes[i].sym_eq(expected[i]));
  TORCH_CHECK_VALUE(equal, "moving_average: ", name, " must be ", form, " = ", c10::SymIntArrayRef(expected), ", got ",
                    sizes);
}

void check_average_dtype(const at::Tensor& tensor, const char* name, at::ScalarType dtype) {
  const bool kept = dtype == at::kBFloat16 && tensor.scalar_type() == at::kFloat;
  TORCH_CHECK_TYPE(kept || tensor.scalar_type() == dtype, "moving_average: ", name, " is ", tensor.scalar_type(),
                   " but x is ", dtype);
}

void check_dtypes_and_devices(const MovingAverageArguments& a) {
  const at::ScalarType dtype = a.x.scalar_type();
  TORCH_CHECK_TYPE(dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16,
                   "moving_average: x must be float32, float64 or bfloat16, got ", dtype);
  check_average_dtype(a.log_scale, "log_scale", dtype);
  check_average_dtype(a.weight, "weight", dtype);
  if (a.skip) check_average_dtype(*a.skip, "skip", dtype);
  TORCH_CHECK_TYPE(!a.padding || a.padding->scalar_type() == at::kBool,
                   "moving_average: padding must be bool (true = padded), got ", a.padding->scalar_type());
  TORCH_CHECK_TYPE(!a.state || a.state->scalar_type() == at::kDouble, "moving_average: state must be float64, got ",
                   a.state->scalar_type());
  const auto check_device = [&](const std::optional<at::Tensor>& tensor, const char* name) {
    TORCH_CHECK_VALUE(!tensor || tensor->device() == a.x.device(), "moving_average: ", name, " is on ",
                      tensor->device(), " but x is on ", a.x.device());
  };
  check_device(a.log_scale, "log_scale");
  check_device(a.weight, "weight");
  check_device(a.skip, "skip");
  check_device(a.padding, "padding");
  check_device(a.state, "state");
}

}  // namespace

void check_moving_average(const MovingAverageArguments& a) {
  check_dtypes_and_devices(a);
  TORCH_CHECK_VALUE(a.x.dim() == 3, "moving_average: x must be [B, N, D], got ", a.x.sym_sizes());
  TORCH_CHECK_VALUE(a.log_scale.dim() == 3, "moving_average: log_scale must be [R, S, G], got ",
                    a.log_scale.sym_sizes());
  const c10::SymInt batch = a.x.sym_size(0), tokens = a.x.sym_size(1), width = a.x.sym_size(2);
  const c10::SymInt directions = a.log_scale.sym_size(0), scales = a.log_scale.sym_size(1);
  TORCH_CHECK_VALUE(directions == 1 || directions == 2,
                    "moving_average: log_scale must be [R, S, G] with one or two directions R, got ",
                    a.log_scale.sym_sizes());
  const c10::SymInt groups = a.log_scale.sym_size(2);
  TORCH_CHECK_VALUE(groups == width || (groups > 0 && width % groups == 0),
                    "moving_average: the last size of log_scale must divide the width ", width, ", got ",
                    a.log_scale.sym_sizes());
  check_average_size(a.weight, "weight", "[R, S, D]", {directions, scales, width});
  if (a.skip) check_average_size(*a.skip, "skip", "[D]", {width});
  if (a.padding) check_average_size(*a.padding, "padding", "[B, N]", {batch, tokens});
  if (a.state) {
    TORCH_CHECK_VALUE(directions == 1, "moving_average: a state belongs to one direction, log_scale has two");
    check_average_size(*a.state, "state", "[B, S, D]", {batch, scales, width});
  }
}

}  // namespace primal::ops
