// Golden files of whole networks.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

/// Every result that the file has, as it has it (gradients under our names), and as we compute it.
Tensors expected_model_results(const GoldenFile& file);
Tensors computed_model_results(const GoldenFile& file, at::ScalarType dtype);

/// Files with "steps" in the metadata: that many training steps on the batch. Losses and norms of the gradient before
/// each, and the logits after the last.
Tensors expected_training_results(const GoldenFile& file);
Tensors computed_training_results(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
