// How well a model predicts a text: perplexity, bits per byte, and where it is surprised.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/text_coder.h"
#include "data/text/token_stream.h"
#include "models/language_model.h"
#include "run/evaluation.h"
#include "tasks/language/blocks.h"

namespace primal::tasks {

struct ScoringOptions {
  int64_t block = 512;
  int64_t context = 0;
  Breaks breaks = Breaks::none;
  std::optional<int64_t> padding{};
};

/// -log p of every token, and what is said of them together.
struct TextScores {
  std::vector<float> nll;  ///< of each token
  /// Of nll over all tokens at each place of a window, those that are only context too.
  std::vector<double> by_place_sum;
  std::vector<int64_t> by_place_count;
  std::vector<double> objective{};  ///< mean J of each primal layer
  double sum = 0;                   ///< of nll
};

/// The model is in evaluation mode.
TextScores score_text(models::LanguageModelImpl& model, const data::TokenStream& text, const data::TextCoder& coder,
                      const ScoringOptions& options);

/// Perplexity per token; of bytes, bits per byte.
const run::Metric& language_metric(std::string_view unit);

/// Score, loss, perplexity per token and per word, bits per byte.
run::Evaluation evaluation_of(const TextScores& scores, const data::TokenStream& text, const data::TextCoder& coder);

/// Loss by place, and the most and least surprising passages, for the report.
void put_details(run::Evaluation& evaluation, const TextScores& scores, const data::TokenStream& text,
                 const data::TextCoder& coder);

}  // namespace primal::tasks
