// Golden files of whole language models: model=language_model.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

Tensors expected_golden_language(const GoldenFile& file);
Tensors computed_golden_language(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
