// The spectrum of each primal layer of a model on some data.
//
//   auto layers = analysis::spectrum_of(*model, [&] { model->forward(batch); });
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "run/analysis_file.h"

namespace primal::analysis {

/// Lambda, and the singular values of the score matrices e and r (both [N, s], one per sample and head; means over
/// samples and heads, as are the effective ranks) of what the layers see in the pass. One entry per primal layer that
/// was called. Memory is that of one call: the N x N matrix e r^T is never made, and long scores are taken in blocks.
std::vector<run::LayerFacts> spectrum_of(torch::nn::Module& model, const std::function<void()>& pass);

}  // namespace primal::analysis
