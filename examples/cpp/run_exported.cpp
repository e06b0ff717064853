// Runs a model that Python exported (torch._inductor.aoti_compile_and_package), without Python: docs/exporting.md.
//   run_exported model.pt2 BATCH TOKENS WIDTH
#include <ATen/ATen.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>
#include <cstdlib>

#include "primal/operators.h"

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: run_exported model.pt2 BATCH TOKENS WIDTH\n");
    return 2;
  }
  primal::load_operators();  // else a linker that drops unused libraries would drop libprimal.so
  torch::inductor::AOTIModelPackageLoader model(arguments[1]);
  const int64_t sizes[] = {std::atoll(arguments[2]), std::atoll(arguments[3]), std::atoll(arguments[4])};
  const at::Tensor x = at::linspace(-1, 1, sizes[0] * sizes[1] * sizes[2], at::kFloat).reshape(sizes);
  for (const at::Tensor& out : model.run({x})) {
    std::printf("%s", out.dim() == 0 ? "[]" : "");
    for (int64_t i = 0; i < out.dim(); ++i)
      std::printf("%s%lld", i == 0 ? "[" : ", ", static_cast<long long>(out.size(i)));
    std::printf("%s sum %.6f\n", out.dim() == 0 ? "" : "]", out.sum().item<double>());
  }
}
