// What every golden file of a whole network asks for: one pass with its gradients, or a course of training.
#pragma once

#include <string>
#include <vector>

#include "nn/encoder_layer.h"
#include "primal/ksvd.h"
#include "tasks/golden_file.h"

namespace primal::tasks {

/// A network with the parameters and the batch that a file has.
class GoldenNetwork {
 public:
  struct Results {
    Tensors values;   ///< under their names in the file: logits, J, ksvd, ...
    at::Tensor loss;  ///< to be differentiated; also in the file
  };

  virtual ~GoldenNetwork() = default;
  virtual torch::nn::Module& network() = 0;
  virtual Results forward() = 0;
  /// What the file has a gradient of besides the parameters, "grad.x"; undefined if there is none.
  virtual at::Tensor x() { return {}; }
};

/// The tensors `names`, "loss", and the gradients under our names. naming: of the parameters, see import_reference
Tensors expected_pass(const GoldenFile& file, const std::string& naming, const std::vector<std::string>& names);
Tensors computed_pass(GoldenNetwork& network);

/// Losses and norms of the gradients before each step, and what the last weights answer.
Tensors expected_training(const GoldenFile& file);
/// With the optimizer, schedule and clipping of the metadata.
Tensors computed_training(const GoldenFile& file, GoldenNetwork& network);

/// One encoder layer of a file with the metadata D, H, ffn and, if primal, s: attention without dropout, padding not
/// respected, rows as PyTorch samples them. rows: n
nn::EncoderLayerOptions golden_layer(const GoldenFile& file, const std::string& attention, int64_t rows);

}  // namespace primal::tasks
