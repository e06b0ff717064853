// What a generator remembers in a file, to go on later: a safetensors file that belongs to the weights that made it.
//
//   save_generator(generator, writer.places(), "chapter.state", weights);
//   SavedGenerator saved("chapter.state", weights, /*samples=*/1);
//   Generator generator(model, 1, saved.sampling());
//   TextWriter writer(generator, coder, saved.load_into(generator), options);
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <string>
#include <vector>

#include "inference/writer.h"
#include "models/generator.h"
#include "primal/safetensors.h"

namespace primal::inference {

/// Changes with any parameter: a state is of use to the weights that made it, to no others.
std::string weights_fingerprint(const torch::nn::Module& model);

/// places: of the text of each sample. weights: weights_fingerprint() of the model.
void save_generator(const models::Generator& generator, const std::vector<SamplePlace>& places,
                    const std::filesystem::path& path, const std::string& weights);

class SavedGenerator {
 public:
  /// Throws Error, which names the file, for a state of other weights, of another number of samples, and for any other
  /// file.
  SavedGenerator(const std::filesystem::path& path, const std::string& weights, int64_t samples);

  /// How the tokens were drawn.
  const models::SamplingOptions& sampling() const { return sampling_; }
  /// Into a fresh generator -> where the text of each sample stands. Throws Error, as above.
  std::vector<SamplePlace> load_into(models::Generator& generator) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  int64_t samples_;
  SafetensorsFile file_;
  models::SamplingOptions sampling_;
};

}  // namespace primal::inference
