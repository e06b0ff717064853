#include "analysis/kernel_functions.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <cmath>
#include <string>

#include "base/format.h"
#include "ops/unit_length.h"

namespace primal::analysis {

namespace {

constexpr int64_t kMostDegree = 100;

}  // namespace

bool is_symmetric(KernelKind kind) { return kind != KernelKind::sne && kind != KernelKind::matrix; }

bool needs_width(KernelKind kind) { return kind == KernelKind::rbf || kind == KernelKind::sne; }

void check(const Kernel& kernel) {
  const auto refuse = [](const std::string& what, double value) {
    throw Error("kernel: expected " + what + ", got " + base::format_digits(value, 6));
  };
  if (!(kernel.width > 0 && std::isfinite(kernel.width))) refuse("a width above 0", kernel.width);
  if (kernel.kind != KernelKind::poly) return;
  if (kernel.degree < 1 || kernel.degree > kMostDegree) {
    refuse("a degree from 1 to " + std::to_string(kMostDegree), static_cast<double>(kernel.degree));
  }
  if (!(kernel.offset >= 0 && std::isfinite(kernel.offset))) refuse("an offset of at least 0", kernel.offset);
}

at::Tensor log_affinities(const Kernel& kernel, const at::Tensor& x, const at::Tensor& z) {
  const at::Tensor middle = z.mean(0);
  const at::Tensor from_x = (x - middle).div_(kernel.width), from_z = (z - middle).div_(kernel.width);
  at::Tensor values = at::mm(from_x, from_z.t()).mul_(2);
  values.sub_(from_x.square().sum(1).unsqueeze_(1)).sub_(from_z.square().sum(1));
  return values.clamp_max_(0);  // what rounding left of the distance of a row to itself
}

at::Tensor kernel_values(const Kernel& kernel, const at::Tensor& x, const at::Tensor& z) {
  switch (kernel.kind) {
    case KernelKind::linear:
      return at::mm(x, z.t());
    case KernelKind::cosine:
      return at::mm(ops::unit_length(x), ops::unit_length(z).t());
    case KernelKind::poly: {
      const at::Tensor products = at::mm(x, z.t()).div_(kernel.width * kernel.width).add_(kernel.offset);
      return products.pow(kernel.degree);
    }
    case KernelKind::rbf:
      return log_affinities(kernel, x, z).exp_();
    case KernelKind::sne:
      return at::softmax(log_affinities(kernel, x, z), 1);
    case KernelKind::matrix:
      break;
  }
  throw Error("kernel_values: a matrix of kernel values has no function of rows");
}

}  // namespace primal::analysis
