// Text that a language model writes: the ids of a generator as text, with what ends it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/text/text_coder.h"
#include "models/generator.h"

namespace primal::inference {

/// Ids that no text has: padding and the like, and those of the model that the coder does not know. A model knows
/// nothing of them and should not write them.
std::vector<int64_t> never_written(const data::TextCoder& coder, const models::LanguageModelImpl& model);

struct WritingOptions {
  int64_t tokens = 200;              ///< at most so many
  std::vector<std::string> stops{};  ///< a text that ends a sample; it is part of it
  bool stop_at_end = true;           ///< the end of a document ends a sample
};

/// Where the text of a sample stands.
struct SamplePlace {
  int32_t last = 0;        ///< id that was read or written last
  std::string held{};      ///< the beginning of a character, of which the rest has not been written yet
  bool has_ended = false;  ///< by a stop or the end of a document
};

/// Goes on from where the generator stands, a token of every sample at a time.
class TextWriter {
 public:
  /// Generator and coder must outlive it. Throws Error for a stop that is empty.
  TextWriter(models::Generator& generator, const data::TextCoder& coder, const std::vector<SamplePlace>& places,
             WritingOptions options);

  /// All samples have ended, or have as many tokens as they may: as the options say, or as the model was made for.
  bool is_done() const;
  /// The next token of each sample as text: "" for one that has ended, or whose character is not complete yet.
  std::vector<std::string> step();
  /// Characters that were begun and never completed, as U+FFFD.
  std::vector<std::string> finish();

  int64_t tokens() const { return tokens_; }  ///< steps so far
  std::vector<SamplePlace> places() const;

 private:
  struct Sample {
    data::TextDecoder decoder;
    int32_t last;
    bool has_ended;
    std::string tail{};  // as much of the text as may be the beginning of a stop
  };
  bool is_at_stop(Sample& sample, const std::string& text) const;

  models::Generator& generator_;
  const data::TextCoder& coder_;
  WritingOptions options_;
  std::vector<Sample> samples_;
  int64_t tokens_ = 0;
};

struct Written {
  std::vector<std::string> texts;  ///< one per sample
  int64_t tokens = 0;              ///< steps of the generator
};

/// Called with the number of the sample and what is new of it; false stops all.
using MoreText = std::function<bool(size_t sample, std::string_view text)>;

/// To the end. goes_on: characters that were begun are left to whoever goes on from places().
Written write_text(TextWriter& writer, const MoreText& more = {}, bool goes_on = false);

}  // namespace primal::inference
