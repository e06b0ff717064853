// Random changes of training series that leave their class as it is.
#pragma once

#include <torch/types.h>

#include "tasks/time_series/config.h"

namespace primal::tasks {

/// Changes batch.x only. lengths: [B] int64. Draws from LibTorch's generator, whose state checkpoints carry.
void augment(models::SeriesBatch& batch, const torch::Tensor& lengths, const TimeSeriesConfig& config);

}  // namespace primal::tasks
