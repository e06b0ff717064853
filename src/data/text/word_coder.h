// Text as words: what stands between blanks, and the end of each line. Ids as fairseq numbers them: <s> 0, <pad> 1,
// </s> (the end of a line) 2, <unk> 3, then the words, the most frequent first.
#pragma once

#include <memory>
#include <unordered_map>

#include "data/text/text_coder.h"

namespace primal::data {

class WordCoder final : public TextCoder {
 public:
  static constexpr int32_t kStart = 0, kPadding = 1, kEnd = 2, kUnknown = 3, kFirstWord = 4;
  static constexpr std::string_view kUnknownWord = "<unk>";

  /// `words` have the ids from 4 on; after them come `unused` ids that no text has. Throws primal::Error, "<where>:
  /// ...", if a word is empty, comes twice, has a blank, is no UTF-8, or is <unk>, which has its id already.
  WordCoder(std::vector<std::string> words, int64_t unused, std::string_view where);
  WordCoder(const WordCoder&) = delete;  // ids_ points into words_
  WordCoder& operator=(const WordCoder&) = delete;

  std::string_view unit() const override { return "words"; }
  int64_t size() const override { return kFirstWord + words() + unused_; }
  int32_t end() const override { return kEnd; }
  bool ends_lines() const override { return true; }
  std::optional<int32_t> padding() const override { return kPadding; }
  std::optional<int32_t> unknown() const override { return kUnknown; }
  /// A blank between two words of a line; none before the end of a line, which is '\n'. <s> and <pad> have no text, an
  /// unused id is "<unused 0>", which no word can be as it has a blank.
  std::string text_of(int32_t id, std::optional<int32_t> before) const override;
  bool is_written(int32_t id) const override { return id >= kEnd && id < kFirstWord + words(); }
  nlohmann::json to_json() const override;

  int64_t words() const { return std::ssize(words_); }
  /// That of <unk> for words outside the vocabulary. <s>, <pad> and </s> are words like any other here, as a text may
  /// have them: the ids 0 to 2 come from no word.
  int32_t id_of(std::string_view word) const;

 private:
  void append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                  const EncodeOptions& options) const override;
  void fail_unknown(std::string_view text, std::string_view name, int64_t first_line) const;

  std::vector<std::string> words_;
  std::unordered_map<std::string_view, int32_t> ids_;  // of words_
  int64_t unused_;
};

std::unique_ptr<WordCoder> word_coder_from_json(const nlohmann::json& object, const std::string& where);

}  // namespace primal::data
