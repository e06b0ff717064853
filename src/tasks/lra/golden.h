// Golden files of the published Long Range Arena classifiers: models lra_classifier and lra_pair_classifier.
#pragma once

#include "tasks/golden_file.h"

namespace primal::tasks {

Tensors expected_golden_lra(const GoldenFile& file);
Tensors computed_golden_lra(const GoldenFile& file, at::ScalarType dtype);

}  // namespace primal::tasks
