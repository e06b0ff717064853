// Golden files of whole Decision Transformers: model=decision_transformer.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

Tensors expected_golden_decision(const GoldenFile& file);
Tensors computed_golden_decision(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
