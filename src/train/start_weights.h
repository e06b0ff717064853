// The weights that a run begins with, where they are not drawn: train.start_from.
#pragma once

#include <torch/nn/module.h>

#include <string>

namespace primal::train {

/// Gives the model the weights of a run (those in its best/), of a checkpoint folder, or of a safetensors file. Throws
/// Error, "train.start_from: ...", unless there are weights, and they have the names, shapes and dtypes of the model's.
void load_start_weights(torch::nn::Module& model, const std::string& from);

}  // namespace primal::train
