// Golden files of one attention layer.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

/// Every result that the file has, as it has it (gradients under our names), and as we compute it.
Tensors expected_layer_results(const GoldenFile& file);
Tensors computed_layer_results(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
