// How long a language model takes to write a token after many others, and to read a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "language_step/jobs.h"

namespace primal::bench {

struct GenerationOptions {
  std::vector<int64_t> positions{64};  ///< tokens that stand before those whose time is taken
  int64_t prompt = 10'000;             ///< tokens of the prompt that is timed
  int64_t tokens = 8;                  ///< whose mean is one figure
  int64_t rounds = 3;                  ///< figures of each time
};

struct WrittenTokens {
  int64_t position = 0;
  std::vector<double> seconds{};  ///< per token, of each round
  int64_t state_bytes = 0;        ///< what the model remembers there
};

struct Generated {
  std::vector<WrittenTokens> written{};
  std::vector<double> prompt_seconds{};   ///< reading it
  std::vector<double> forward_seconds{};  ///< one pass of the model over as many tokens, without gradients
};

/// Of a model that has learnt nothing: what it writes does not matter for the time. Everything in turn.
Generated measure_generation(const LanguageSizes& sizes, const GenerationOptions& options);

}  // namespace primal::bench
