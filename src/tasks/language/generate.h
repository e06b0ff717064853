// `primal generate`: what a trained language model writes.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "inference/writer.h"
#include "models/generator.h"

namespace primal::tasks {

/// What is not given is as in the state that is loaded, or as models::SamplingOptions has it.
struct SamplingChoice {
  models::SamplingOptions over(models::SamplingOptions options) const;

  std::optional<double> temperature{}, top_p{}, repetition{};
  std::optional<int64_t> top_k{};
  std::optional<uint64_t> seed{};
};

struct GenerateRequest {
  std::filesystem::path run;
  std::string prompt;                  ///< may be empty: then the model begins a text
  std::string prompt_name = "prompt";  ///< in messages
  bool unknown_words = false;          ///< words outside the vocabulary are read as unknown, no error
  int64_t samples = 1;                 ///< side by side
  SamplingChoice sampling{};
  inference::WritingOptions writing{};
  inference::MoreText more{};  ///< told what is written, as it is
  std::optional<std::filesystem::path> load_state{}, save_state{};
  int64_t threads = 0;  ///< 0: as the run
};

struct GenerateResult {
  std::vector<std::string> texts;
  int64_t prompt_tokens = 0, tokens = 0;
  double prompt_seconds = 0, seconds = 0;
  int64_t state_bytes = 0;
  std::exception_ptr unsaved{};  ///< what kept the state from being saved; null: it was, or nobody asked for it
};

/// Throws Error for a run without a language model, a prompt that cannot be encoded, a state of another model, and for
/// more tokens than the model was made for.
GenerateResult generate(const GenerateRequest& request);

/// "read 12 tokens, 3400 tokens/s; written 200 tokens, 410 tokens/s; state 49.2 KB".
std::string summary_of(const GenerateResult& result);

}  // namespace primal::tasks
