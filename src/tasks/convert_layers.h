// The layers of a trained model made primal, one after another from below.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/encoder_layer.h"
#include "tasks/conversion.h"
#include "tasks/task.h"

namespace primal::tasks {

/// The encoder layers of a model, from below.
std::vector<nn::EncoderLayerImpl*> encoder_layers(torch::nn::Module& model);

/// "last", "all" that are not primal, or numbers from 1 on, "1,3". -> their places, from 0, rising. Throws Error that
/// `run` begins where there is nothing to convert, and "--layers ..." for layers that cannot be.
std::vector<size_t> layers_to_convert(const std::string& wanted, const std::vector<nn::EncoderLayerImpl*>& layers,
                                      const std::string& run);

/// Gives `model` every weight of `old` but those of the attention of these layers, which are primal in `model` and not
/// in `old`. Throws Error if other weights differ in shape.
void take_other_weights(torch::nn::Module& model, torch::nn::Module& old, const std::vector<size_t>& layers);

struct LearnRequest {
  DataChoice choice;
  int64_t steps = 0;  ///< of gradient descent
  uint64_t seed = 1;
  std::function<void(const std::string&)> say{};  ///< gets a line now and then
};

/// The attention of each of these layers of `model` learns the outputs of that of `old`. What it gets is what it will
/// get: the layers below it are those of `model`, converted already, and so it makes up for what they miss.
std::vector<ConvertedLayer> learn_layers(Task& model, Task& old, const std::vector<size_t>& layers,
                                         const LearnRequest& request);

}  // namespace primal::tasks
