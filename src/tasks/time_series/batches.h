// Series as a model takes them: padded to one length.
#pragma once

#include <torch/types.h>

#include <span>

#include "data/series/time_series.h"
#include "models/sequence_classifier.h"

namespace primal::tasks {

/// The chosen cases of a set, padded. `tokens`: longest the model takes; longer series are cut. `full`: padded to
/// `tokens` even if all are shorter, as the flatten head needs.
models::SeriesBatch batch_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens, bool full);
/// min(length, tokens) of each. -> [B] int64
torch::Tensor lengths_of(const data::TimeSeriesSet& set, std::span<const int64_t> cases, int64_t tokens);

/// Cases of a batch such that a forward pass stays within a few hundred megabytes.
int64_t evaluation_batch(int64_t tokens);

}  // namespace primal::tasks
