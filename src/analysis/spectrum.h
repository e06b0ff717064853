// The spectrum of each primal layer of a model on some data.
//
//   auto layers = analysis::spectrum_of(nn::record(*model, [&] { model->forward(batch); }));
#pragma once

#include <vector>

#include "nn/record.h"
#include "run/analysis_file.h"

namespace primal::analysis {

/// Lambda, and the singular values of the score matrices e and r (both [N, s], one per sample and head; means over
/// samples and heads, as are the effective ranks). One entry per primal layer, over all its records, which stand
/// together as nn::record gives them.
std::vector<run::LayerFacts> spectrum_of(const std::vector<nn::AttentionRecord>& records);

}  // namespace primal::analysis
