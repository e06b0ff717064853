// What the attention of each encoder layer sees while a model runs, for analysis.
//
//   auto records = nn::record(*model, [&] { model->forward(batch); });
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/attention/attention.h"

namespace primal::nn {

/// One call of one layer's attention.
struct AttentionRecord {
  std::string name;  ///< "layer 1", ...: the encoder layers of a model in the order of its modules
  std::shared_ptr<Attention> attention;
  torch::Tensor input;                     ///< [B, N, D], after the norm if that comes first
  std::optional<torch::Tensor> padding{};  ///< [B, N] bool
};

/// Runs the pass, on this thread, without gradient and with the model in evaluation mode, as it is left then. The
/// records stand by layer, those of a layer in the order of its calls. Layers that are not of this model are left out.
std::vector<AttentionRecord> record(torch::nn::Module& model, const std::function<void()>& pass);

}  // namespace primal::nn
