#include <ATen/ATen.h>

#include "ops/linear_cross_entropy/linear_cross_entropy.h"

namespace primal::ops {

namespace {

constexpr const char* kEntropyOwner = "linear_cross_entropy: ";

void check_entropy_dtypes(const LinearCrossEntropy& a) {
  const at::ScalarType hidden = a.hidden.scalar_type(), weight = a.weight.scalar_type();
  TORCH_CHECK_TYPE(hidden == at::kFloat || hidden == at::kDouble || hidden == at::kBFloat16, kEntropyOwner,
                   "hidden must be float32, float64 or bfloat16, got ", hidden);
  const auto is_single = [](at::ScalarType dtype) { return dtype == at::kFloat || dtype == at::kBFloat16; };
  TORCH_CHECK_TYPE(hidden == weight || (is_single(hidden) && is_single(weight)), kEntropyOwner, "weight is ", weight,
                   " but hidden is ", hidden);
  TORCH_CHECK_TYPE(a.targets.scalar_type() == at::kLong, kEntropyOwner, "targets must be int64, got ",
                   a.targets.scalar_type());
}

void check_entropy_devices(const LinearCrossEntropy& a) {
  const auto check = [&](const at::Tensor& tensor, const char* name) {
    TORCH_CHECK_VALUE(tensor.device() == a.hidden.device(), kEntropyOwner, name, " is on ", tensor.device(),
                      " but hidden is on ", a.hidden.device());
  };
  check(a.weight, "weight");
  check(a.targets, "targets");
}

}  // namespace

void check_linear_cross_entropy(const LinearCrossEntropy& a) {
  check_entropy_dtypes(a);
  check_entropy_devices(a);
  TORCH_CHECK_VALUE(a.hidden.dim() == 2, kEntropyOwner, "hidden must be [T, D], got ", a.hidden.sym_sizes());
  TORCH_CHECK_VALUE(a.weight.dim() == 2, kEntropyOwner, "weight must be [V, D], got ", a.weight.sym_sizes());
  TORCH_CHECK_VALUE(TORCH_GUARD_OR_TRUE(a.weight.sym_size(1).sym_eq(a.hidden.sym_size(1))), kEntropyOwner,
                    "weight must be [V, D] with the width ", a.hidden.sym_size(1), " of hidden, got ",
                    a.weight.sym_sizes());
  TORCH_CHECK_VALUE(TORCH_GUARD_OR_TRUE(a.weight.sym_size(0).sym_ge(1)), kEntropyOwner,
                    "weight must be [V, D] with a vocabulary of at least 1, got ", a.weight.sym_sizes());
  TORCH_CHECK_VALUE(a.targets.dim() == 1 && TORCH_GUARD_OR_TRUE(a.targets.sym_size(0).sym_eq(a.hidden.sym_size(0))),
                    kEntropyOwner, "targets must be [T] = [", a.hidden.sym_size(0), "], got ", a.targets.sym_sizes());
  TORCH_CHECK_VALUE(a.label_smoothing >= 0 && a.label_smoothing <= 1, kEntropyOwner,
                    "label_smoothing must be in [0, 1], got ", a.label_smoothing);
}

}  // namespace primal::ops
