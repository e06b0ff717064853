// Text token by token: what a language model says next, drawn from its distribution, as long as one likes.
//
//   Generator generator(model, /*sequences=*/1, {.temperature = 0.8, .seed = 1});
//   generator.read(prompt);                          // any length, in one pass over chunks of it
//   while (...) std::vector<int64_t> next = generator.next();
//
// What it remembers of the past is the model's state: of constant size if every layer is primal.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/language_model.h"

namespace primal::models {

struct SamplingOptions {
  double temperature = 1;  ///< 0: the likeliest token
  int64_t top_k = 0;       ///< only the k likeliest; 0 = all
  double top_p = 1;        ///< only the likeliest that together have this share
  double repetition = 1;   ///< logits of recent tokens are divided by this where positive, else multiplied; 1 = off
  uint64_t seed = 1;
};

/// Throws Error that names the option.
void check(const SamplingOptions& options);

/// A token from logits [V] by these options; chance: uniform on [0, 1). recent: tokens that repetition speaks of.
int64_t sample(const torch::Tensor& logits, const SamplingOptions& options, std::span<const int64_t> recent,
               double chance);

class Generator {
 public:
  /// sequences: how many samples are drawn side by side, each with its own chance. forbidden: ids never drawn.
  Generator(LanguageModel model, int64_t sequences, SamplingOptions options, std::vector<int64_t> forbidden = {});

  /// Tokens that are given, the same for every sequence.
  void read(std::span<const int64_t> ids);
  /// The next token of every sequence; something must have been read before the first.
  std::vector<int64_t> next();
  /// Logits of what comes next, [sequences, V].
  torch::Tensor logits();

  /// Whether the model can say what comes next: some models are made for sequences of a certain length.
  bool can_go_on() const { return tokens() <= model_->most_tokens().value_or(tokens()); }

  const SamplingOptions& options() const { return options_; }
  int64_t tokens() const { return state_.position + (pending_.empty() ? 0 : 1); }  ///< read and drawn so far
  int64_t state_bytes() const;                                                     ///< what the model remembers

  /// To go on later, bit for bit: the model's state, the last tokens, and how many have been drawn.
  nn::StateTensors save() const;
  /// Into a fresh generator of the same model and as many sequences. Throws Error if it is of another form.
  void load(const nn::StateTensors& tensors);

 private:
  void step(const torch::Tensor& ids);
  void remember(const std::vector<int64_t>& ids);

  LanguageModel model_;
  int64_t sequences_;
  SamplingOptions options_;
  std::vector<int64_t> forbidden_;
  LanguageState state_;
  torch::Tensor features_;                    // of the last token, [sequences, D]
  std::vector<int64_t> pending_;              // drawn, and not yet read by the model
  std::vector<std::vector<int64_t>> recent_;  // of each sequence, for the repetition
  int64_t drawn_ = 0;
};

}  // namespace primal::models
