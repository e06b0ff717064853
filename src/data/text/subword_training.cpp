#include "data/text/subword_training.h"

#include <unordered_map>

#include "base/text.h"
#include "data/text/check_utf8.h"
#include "data/text/subword_coder.h"

#ifdef PRIMAL_HAVE_SENTENCEPIECE
#include <sentencepiece_trainer.h>
#endif

namespace primal::data {

#ifndef PRIMAL_HAVE_SENTENCEPIECE

std::string train_subwords(std::span<const TextPiece>, const SubwordTraining&) {
  require_subword_support("subwords");
  return "";
}

#else

namespace {

constexpr std::size_t kLongestSentence = 4000;  // sentencepiece passes over longer ones than 4192 bytes

/// So much of the beginning of a line as one sentence can be, up to a blank if there is one.
std::string_view sentence_of(std::string_view line) {
  if (line.size() <= kLongestSentence) return line;
  const std::size_t blank = line.rfind(' ', kLongestSentence - 1);
  if (blank != line.npos && blank > 0) return line.substr(0, blank);
  const std::string_view cut = line.substr(0, kLongestSentence);
  return cut.substr(0, cut.size() - base::unfinished_utf8(cut));
}

/// Lines of the texts, one after another; of a long text evenly drawn ones. Nothing is random in it.
class SampledLines final : public sentencepiece::SentenceIterator {
 public:
  SampledLines(std::span<const TextSource> sources, uint64_t most_bytes)
      : sources_(sources), all_(bytes_of(sources)), most_(most_bytes) {
    rest_ = sources_.front().text();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    while (take_sentence()) {
      const bool is_due = static_cast<double>(kept_) * static_cast<double>(all_) <=
                          static_cast<double>(seen_) * static_cast<double>(most_);
      seen_ += sentence_.size() + 1;
      if (sentence_.empty() || !is_due) continue;
      kept_ += sentence_.size() + 1;
      value_ = sentence_;
      return;
    }
    done_ = true;
  }

 private:
  bool take_sentence() {
    while (rest_.empty()) {
      sources_ = sources_.subspan(1);
      if (sources_.empty()) return false;
      rest_ = sources_.front().text();
    }
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    sentence_ = sentence_of(line);
    const bool ends_line = sentence_.size() == line.size() && line.size() < rest_.size();
    rest_.remove_prefix(sentence_.size() + (ends_line ? 1 : 0));
    return true;
  }

  std::span<const TextSource> sources_;
  uint64_t all_, most_, seen_ = 0, kept_ = 0;  // bytes
  std::string_view rest_, sentence_;
  std::string value_ = " ";  // first: the model needs a piece for a blank, and the trainer one that it has seen
  bool done_ = false;
};

std::unordered_map<std::string, std::string> trainer_options(const SubwordTraining& training) {
  return {{"model_type", "bpe"},
          {"vocab_size", std::to_string(training.size)},
          {"bos_id", "0"},
          {"pad_id", "1"},
          {"eos_id", "2"},
          {"unk_id", "3"},
          // What the text was comes back from the ids.
          {"normalization_rule_name", "identity"},
          {"byte_fallback", "true"},
          {"required_chars", "\u2581"},  // how it writes a blank, which may be rare
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"num_threads", "1"},
          {"minloglevel", "3"}};
}

/// sentencepiece says "FILE(LINE) [CONDITION] Vocabulary size too high (8000). Please set it to a value <= 412."
[[noreturn]] void fail_training(const std::string& where, int64_t size, std::string_view message) {
  const std::size_t condition = message.rfind("] ");
  const std::string_view advice = base::trim(message.substr(condition == message.npos ? 0 : condition + 2));
  base::fail(where, "sentencepiece cannot make ", size, " of them: ", advice.empty() ? message : advice);
}

}  // namespace

std::string train_subwords(std::span<const TextPiece> train, const SubwordTraining& training) {
  if (train.empty()) base::fail("subwords", "expected a text to learn them from, got none");
  constexpr int64_t kFewest = 261, kMost = 1'000'000;  // marks, bytes and a blank; what the trainer's memory can hold
  if (training.size < kFewest || training.size > kMost) {
    base::fail("subwords", "expected ", kFewest, " to ", kMost, " of them, got ", training.size);
  }
  const std::string where = "subwords of " + train.front().file.string();
  const std::vector<TextSource> sources = open_pieces(train);
  for (const TextSource& source : sources)
    check_utf8(source.text(), source.name(), source.line_of(source.text().data()));
  SampledLines lines(sources, training.most_bytes);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_options(training), &lines, &model);
  if (!status.ok()) fail_training(where, training.size, status.message());
  return model;
}

#endif

}  // namespace primal::data
