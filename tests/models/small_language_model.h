// A small language model with layers of any causal kinds.
#pragma once

#include <torch/utils.h>

#include <string>
#include <vector>

#include "models/language_model.h"

namespace primal::tests {

struct SmallLanguage {
  std::vector<std::string> kinds = {"softmax", "primal"};
  Memory memory = Memory::mean;
  int64_t kernel = 0;
  models::Positions positions = models::Positions::sinusoidal;
  std::optional<int64_t> padding{};
  int64_t vocabulary = 19;
  std::vector<int64_t> cutoffs{};
};

inline models::LanguageModel small_language_model(const SmallLanguage& small = {}) {
  torch::manual_seed(7);
  models::LanguageModelOptions options{.vocabulary = small.vocabulary,
                                       .tokens = 24,
                                       .padding = small.padding,
                                       .positions = small.positions,
                                       .adaptive = {.cutoffs = small.cutoffs, .factor = 2}};
  for (const std::string& kind : small.kinds) {
    options.layers.push_back({.attention = {.kind = kind,
                                            .width = 16,
                                            .heads = 2,
                                            .causal = true,
                                            .tokens = 24,
                                            .primal = {.rank = 3, .memory = small.memory, .memory_tokens = 24}},
                              .feed_forward = 32,
                              .norm_first = true,
                              .activation = Activation::relu,
                              .kernel = small.kernel});
  }
  models::LanguageModel model(options);
  model->eval();
  return model;
}

inline torch::Tensor random_tokens(int64_t batch, int64_t tokens, int64_t vocabulary = 19, int64_t lowest = 0) {
  return torch::randint(lowest, vocabulary, {batch, tokens}, torch::kInt64);
}

}  // namespace primal::tests
