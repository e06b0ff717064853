// Text that a language model writes: the ids of a generator as text, with what ends it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/text/text_coder.h"
#include "models/generator.h"

namespace primal::inference {

/// Ids that no text has: padding and the like. A model knows nothing of them and should not write them.
std::vector<int64_t> never_written(const data::TextCoder& coder);

struct WritingOptions {
  int64_t tokens = 200;              ///< at most so many
  std::vector<std::string> stops{};  ///< a text that ends a sample; it is part of it
  bool stop_at_end = true;           ///< the end of a document ends a sample
};

/// Goes on from where the generator stands, a token of every sample at a time.
class TextWriter {
 public:
  /// Generator and coder must outlive it. before: the last id that the generator has read.
  TextWriter(models::Generator& generator, const data::TextCoder& coder, int64_t samples, int32_t before,
             WritingOptions options);

  /// All samples have ended, or have as many tokens as they may.
  bool is_done() const;
  /// The next token of each sample as text: "" for one that has ended, or whose character is not complete yet.
  std::vector<std::string> step();
  /// Characters that were begun and never completed, as U+FFFD.
  std::vector<std::string> finish();

  int64_t tokens() const { return tokens_; }  ///< steps so far
  int32_t last() const { return last_; }      ///< id of the first sample; before the first step: `before`

 private:
  struct Sample {
    data::TextDecoder decoder;
    std::string tail{};  // as much of the text as may be the beginning of a stop
    bool is_done = false;
  };
  bool is_at_stop(Sample& sample, const std::string& text) const;

  models::Generator& generator_;
  const data::TextCoder& coder_;
  WritingOptions options_;
  std::vector<Sample> samples_;
  int64_t tokens_ = 0;
  int32_t last_;
};

struct Written {
  std::vector<std::string> texts;  ///< one per sample
  int64_t tokens = 0;              ///< steps of the generator
  bool stopped = false;            ///< by `more`
  int32_t last = 0;                ///< id of the first sample
};

/// Called with the number of the sample and what is new of it; false stops all.
using MoreText = std::function<bool(size_t sample, std::string_view text)>;

/// To the end.
Written write_text(TextWriter& writer, const MoreText& more = {});

}  // namespace primal::inference
