// A trained language model in a program of one's own: text that goes on, token by token, and how likely a text is.
//
//   primal::LanguageModel model = primal::LanguageModel::load("runs/text");      // what primal train wrote
//   std::string text = model.generate("def forward(", {.tokens = 200, .temperature = 0.8, .seed = 1});
//   model.generate("def forward(", {}, [](std::string_view piece) { std::cout << piece; return true; });
//
// What a stream remembers of the past is of constant size if every layer is primal, so it may go on for ever:
//
//   primal::TextStream stream = model.stream("Once", {.tokens = 100});
//   while (auto piece = stream.next()) std::cout << *piece;
//   stream.save("once.state");
//
// Text is UTF-8, without zero bytes. All functions throw primal::Error, a message of one line, for what cannot be done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primal/error.h"
#include "primal/export.h"

namespace primal {

struct GenerateOptions {
  int64_t tokens = 200;              ///< at most so many are written
  double temperature = 1;            ///< 0: always the likeliest token
  int64_t top_k = 0;                 ///< only the k likeliest; 0 = all
  double top_p = 1;                  ///< only the likeliest that together have this share
  double repetition = 1;             ///< above 1: tokens among the last 256 become less likely
  uint64_t seed = 1;                 ///< the same seed writes the same text
  std::vector<std::string> stops{};  ///< texts that end what is written; they are part of it
  bool unknown_words = false;        ///< words outside the vocabulary are read as unknown, no error
};

/// A token of a text, and how surprising it is. The bytes of a character stand with the last of its tokens.
struct TokenScore {
  std::string text;
  double surprise = 0;  ///< -log p of the token, given those before it
};

/// Text as it grows. Made by LanguageModel::stream(), and of use after that model is gone.
class PRIMAL_API TextStream {
 public:
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  /// More text to go on from. As many tokens may be written after it as GenerateOptions::tokens.
  void read(std::string_view text);
  /// What comes next, at least one character; nothing once the text has ended: by its tokens, by a stop, by the end of
  /// a document, or because the model was made for no longer sequences (learnt positions).
  std::optional<std::string> next();

  /// To go on later, bit for bit: a safetensors file.
  void save(const std::filesystem::path& path) const;
  /// Forgets what was read and written, and goes on from where the stream of that file stood, with the options of this
  /// one.
  void load(const std::filesystem::path& path);

  int64_t tokens() const;       ///< read and written so far, the start of the text included
  int64_t state_bytes() const;  ///< of what the model remembers

 private:
  friend class LanguageModel;
  struct Impl;
  explicit TextStream(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// Cheap to copy: copies share the weights. One model may serve several threads, each with streams of its own.
class PRIMAL_API LanguageModel {
 public:
  /// run: a run directory of the family language. Reads data.json and best/, held against their checksums.
  static LanguageModel load(const std::filesystem::path& run);

  /// What comes after the prompt, which is not part of it. An empty prompt begins a text.
  std::string generate(std::string_view prompt, const GenerateOptions& options = {}) const;
  /// The same, piece by piece as it is written, until `more` gives false.
  std::string generate(std::string_view prompt, const GenerateOptions& options,
                       const std::function<bool(std::string_view piece)>& more) const;
  /// Several texts side by side, each with its own chance.
  std::vector<std::string> samples(std::string_view prompt, int64_t count, const GenerateOptions& options = {}) const;
  TextStream stream(std::string_view prompt = "", const GenerateOptions& options = {}) const;

  /// Every token of a text. Each sees half a block of the model's training before it, where the text has so much.
  std::vector<TokenScore> score(std::string_view text) const;
  double perplexity(std::string_view text) const;  ///< exp of the mean surprise of its tokens

  std::vector<int64_t> tokens(std::string_view text) const;  ///< ids
  int64_t vocabulary_size() const;                           ///< ids of a text are below it
  std::string_view unit() const;                             ///< "words", "bytes" or "subwords"

 private:
  struct Impl;
  friend class TextStream;
  explicit LanguageModel(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace primal
