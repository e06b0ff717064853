// What a generator remembers in a file, to go on later: a safetensors file that belongs to the weights that made it.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <string>

#include "models/generator.h"

namespace primal::inference {

/// Changes with any parameter: a state is of use to the weights that made it, to no others.
std::string weights_fingerprint(const torch::nn::Module& model);

/// last: the id that was read or written last. weights: weights_fingerprint() of the model.
void save_generator(const models::Generator& generator, int32_t last, const std::filesystem::path& path,
                    const std::string& weights, int64_t samples);

/// Into a fresh generator -> the last id. Throws Error, which names the file, for a state of other weights, of another
/// number of samples, and for any other file.
int32_t load_generator(models::Generator& generator, const std::filesystem::path& path, const std::string& weights,
                       int64_t samples);

}  // namespace primal::inference
