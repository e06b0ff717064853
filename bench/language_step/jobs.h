// A training step of the language model, and what it computes, for a comparison with plain PyTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"
#include "models/language_model.h"

namespace primal::bench {

/// Those of configs/language/wikitext-2.toml.
struct LanguageSizes {
  std::vector<std::string> layers{};  ///< kinds of attention
  int64_t width = 512, heads = 8, feed_forward = 2048;
  int64_t rank = 30;  ///< of primal layers
  int64_t vocabulary = 33'278;
  int64_t block = 512;  ///< tokens of an example
  double dropout = 0.1;
};

models::LanguageModel language_model(const LanguageSizes& sizes);

/// Forward, loss with its KSVD term, backward, step of AdamW: as the program trains with the presets language/*. An
/// example is a block.
std::unique_ptr<Job> make_training_step(const LanguageSizes& sizes);

/// Writes a safetensors file: the parameters by their names, "ids" and "targets" [examples, block], and of evaluation
/// mode "loss" [1] with its KSVD term, and the gradients as "gradient.NAME".
void save_outcome(const LanguageSizes& sizes, int64_t examples, const std::filesystem::path& path);

}  // namespace primal::bench
