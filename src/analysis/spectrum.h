// The spectrum of each primal layer of a model on some data.
#pragma once

#include <vector>

#include "analysis/findings.h"
#include "models/sequence_classifier.h"

namespace primal::analysis {

/// Lambda, and the singular values of the score matrices e and r (both [N, s], one per sample and head; means over
/// samples and heads, as are the effective ranks). One entry per primal layer. The model is taken in evaluation mode.
std::vector<LayerFacts> spectrum_of(models::SequenceClassifierImpl& model, const models::SeriesBatch& batch);

}  // namespace primal::analysis
