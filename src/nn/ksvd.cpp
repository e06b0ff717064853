#include "primal/ksvd.h"

#include <ATen/ATen.h>

#include "primal/error.h"

namespace primal {

at::Tensor ksvd_loss(const std::vector<KsvdTerms>& layers, double eta, KsvdReduction reduction) {
  if (layers.empty()) throw Error("ksvd_loss: no layer given");
  at::Tensor sum;
  for (const KsvdTerms& terms : layers) {
    const at::Tensor j = terms.objective();
    at::Tensor square;
    switch (reduction) {
      case KsvdReduction::per_sample:
        square = j.square().mean();
        break;
      case KsvdReduction::batch_mean:
        square = j.mean().square();
        break;
      case KsvdReduction::none:
        square = j.square();
        break;
    }
    sum = sum.defined() ? sum + square : square;
  }
  return sum * (eta / static_cast<double>(layers.size()));
}

}  // namespace primal
