// A trained language model out of its run directory, without the program's configuration: data.json and best/ say all.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_coder.h"
#include "models/language_model.h"

namespace primal::inference {

struct TrainedLanguage {
  models::LanguageModel model{nullptr};  ///< with the kept weights, in evaluation mode
  std::shared_ptr<data::TextCoder> coder;
  std::string weights;  ///< weights_fingerprint() of the model
};

/// Throws Error, which names the run or the file, for what is no run of a language model or is damaged.
TrainedLanguage open_language(const std::filesystem::path& run);

/// The ids of a text that may be continued. unknown_words: words outside the vocabulary are no error.
std::vector<int32_t> ids_of(const TrainedLanguage& trained, std::string_view text, bool unknown_words = false);

/// -log p of each token, of which every one sees half a block of the model's before it at least, where the text has so
/// many; those of `primal eval` with eval.context of half a block.
std::vector<double> surprise_of(const TrainedLanguage& trained, const std::vector<int32_t>& ids);

}  // namespace primal::inference
