// The time scales that the layers of a model have learnt.
#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "run/analysis_file.h"

namespace primal::analysis {

/// Of every fading memory of every encoder layer, in their order; empty for a model that has none.
std::vector<run::TimeScales> time_scales_of(const torch::nn::Module& model);

}  // namespace primal::analysis
