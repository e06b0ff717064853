// The KSVD regulariser: J = Le + Lr - Tr of each primal layer, squared and added to the task loss.
//
//   auto [out, terms] = attention->forward(x);
//   auto loss = task_loss + primal::ksvd_loss({terms}, /*eta=*/0.1);
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <vector>

#include "primal/export.h"

namespace primal {

/// Per sample, [B] each; float32 when the tokens are bfloat16.
struct KsvdTerms {
  at::Tensor le;  ///< 1/2 mean over heads and tokens of e Lambda e^T
  at::Tensor lr;  ///< the same for r
  at::Tensor tr;  ///< mean over heads of the trace of We^T Wr

  /// J = Le + Lr - Tr, zero at a stationary point of the kernel SVD. -> [B]
  at::Tensor objective() const { return le + lr - tr; }
};

enum class KsvdReduction {
  per_sample,  ///< mean over the batch of J^2 (published for time series, RL, language)
  batch_mean,  ///< (mean over the batch of J)^2 (published for LRA, vision)
  none,        ///< J^2 of each sample, [B]
};

/// eta times the mean over the layers of J^2. At least one layer.
PRIMAL_API at::Tensor ksvd_loss(const std::vector<KsvdTerms>& layers, double eta,
                                KsvdReduction reduction = KsvdReduction::per_sample);

}  // namespace primal
