// Whether the primal layers of a model hold a kernel SVD of what they see, measured while it runs.
//
//   auto layers = analysis::ksvd_check(*model, [&] { model->forward(batch); });
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "analysis/ksvd_layer.h"

namespace primal::analysis {

struct KsvdCheckOptions {
  /// Random weights of the layer's own size, Lambda and norm per head: at least so many of each head.
  int64_t draws = 100;
  uint64_t seed = 0;
};

/// One entry per primal layer that was called. Call by call, sample by sample: the kernel matrix is never made.
/// LibTorch's own generator is left alone. Throws Error for a layer with too many features.
std::vector<KsvdLayer> ksvd_check(torch::nn::Module& model, const std::function<void()>& pass,
                                  const KsvdCheckOptions& options = {});

}  // namespace primal::analysis
