#include "data/text/word_coder.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "base/text.h"
#include "data/text/check_utf8.h"
#include "data/text/split_words.h"

namespace primal::data {
namespace {

constexpr int64_t kMostIds = std::numeric_limits<int32_t>::max();

/// Whether a text can have it as one word.
bool is_one_word(std::string_view word) {
  bool is_whole = false;
  split_words(
      word, [&](std::string_view part) { is_whole = part == word; }, [] {});
  return is_whole && word.find('\0') == word.npos && base::is_utf8(word);
}

}  // namespace

WordCoder::WordCoder(std::vector<std::string> words, int64_t unused, std::string_view where)
    : words_(std::move(words)), unused_(unused) {
  if (unused < 0 || unused > kMostIds || std::ssize(words_) > kMostIds - kFirstWord - unused) {
    base::fail(where, "expected at most ", kMostIds, " ids, got ", words_.size(), " words and ", unused, " unused");
  }
  ids_.reserve(words_.size() + 1);
  ids_.emplace(kUnknownWord, kUnknown);
  for (int32_t id = kFirstWord; const std::string& word : words_) {
    if (!is_one_word(word)) base::fail(where, "expected a word without blanks, in UTF-8, got ", base::in_quotes(word));
    if (!ids_.emplace(word, id++).second) base::fail(where, "the word ", base::in_quotes(word), " comes twice");
  }
}

int32_t WordCoder::id_of(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

void WordCoder::append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                           const EncodeOptions& options) const {
  check_utf8(text, name, options.first_line);
  if (options.strict) fail_unknown(text, name, options.first_line);
  split_words(
      text, [&](std::string_view word) { ids.push_back(id_of(word)); }, [&] { ids.push_back(kEnd); });
}

/// If there is an unknown word.
void WordCoder::fail_unknown(std::string_view text, std::string_view name, int64_t first_line) const {
  int64_t line = first_line, line_of_first = 0, count = 0;
  std::string_view first;
  const auto look = [&](std::string_view word) {
    if (ids_.contains(word)) return;
    if (count++ == 0) first = word, line_of_first = line;
  };
  split_words(text, look, [&] { ++line; });
  if (count == 0) return;
  base::fail(std::string(name) + ":" + std::to_string(line_of_first), "expected words of the vocabulary, got ",
             base::in_quotes(first), count == 1 ? "" : " and " + std::to_string(count - 1) + " more outside it");
}

std::string WordCoder::text_of(int32_t id, std::optional<int32_t> before) const {
  if (id == kEnd) return "\n";
  if (id == kStart || id == kPadding) return "";
  const bool begins_line = !before || *before < kUnknown;
  const std::string blank = begins_line ? "" : " ";
  if (id == kUnknown) return blank + std::string(kUnknownWord);
  const int64_t number = id - kFirstWord;
  if (number < words()) return blank + words_[static_cast<std::size_t>(number)];
  return blank + "<unused " + std::to_string(number - words()) + ">";
}

nlohmann::json WordCoder::to_json() const { return {{"unit", unit()}, {"words", words_}, {"unused", unused_}}; }

std::unique_ptr<WordCoder> word_coder_from_json(const nlohmann::json& object, const std::string& where) {
  const base::Fields fields(object, where);
  return std::make_unique<WordCoder>(fields.texts("words"), fields.whole_if_any("unused"), where);
}

}  // namespace primal::data
