// Golden files of the time-series classifier: values and gradients, or the course of a training.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

/// See GoldenModel in tasks/family.h.
Tensors expected_golden_series(const GoldenFile& file);
Tensors computed_golden_series(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
