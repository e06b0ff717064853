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
  size_t layer;      ///< of the encoder layers of a model in the order of its modules, from 0
  std::string name;  ///< "layer 1", ...
  std::shared_ptr<Attention> attention;
  torch::Tensor input;                     ///< [B, N, D], after the norm if that comes first, and mixed
  std::optional<torch::Tensor> padding{};  ///< [B, N] bool
};

using Heard = std::function<void(const AttentionRecord&)>;

/// Runs the pass, on this thread, without gradient and with the model in evaluation mode, as it is left then. Each call
/// is handed on as it happens, and nothing of it is kept. Layers that are not of this model are left out.
void listen(torch::nn::Module& model, const std::function<void()>& pass, const Heard& heard);

/// The same, and keeps them all: by layer, those of a layer in the order of its calls.
std::vector<AttentionRecord> record(torch::nn::Module& model, const std::function<void()>& pass);

}  // namespace primal::nn
