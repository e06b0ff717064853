// Random changes of training series that leave their class as it is.
#pragma once

#include <torch/types.h>

#include "base/random.h"
#include "models/sequence_classifier.h"
#include "tasks/time_series/config.h"

namespace primal::tasks {

/// Changes batch.x only. lengths: [B] int64
void augment(models::SeriesBatch& batch, const torch::Tensor& lengths, const AugmentOptions& options,
             base::Random random);

}  // namespace primal::tasks
