#include "data/text/word_counts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/in_parallel.h"
#include "base/text.h"
#include "data/text/check_utf8.h"
#include "data/text/split_words.h"

namespace primal::data {
namespace {

using Counts = std::unordered_map<std::string_view, int64_t>;

// On its own: a mistake in the text is then told of the first place that has one, whatever the number of threads.
void check_chunks(std::span<const TextChunk> chunks, int64_t threads) {
  base::in_parallel(std::ssize(chunks), threads, [&](int64_t i) {
    const TextChunk& chunk = chunks[static_cast<std::size_t>(i)];
    try {
      check_utf8(chunk.text, chunk.source->name());
    } catch (const Error&) {  // the lines before it are counted only now
      check_utf8(chunk.text, chunk.source->name(), chunk.source->line_of(chunk.text.data()));
    }
  });
}

/// Each thread counts for itself: most of the time goes into looking words up.
Counts counts_of(std::span<const TextChunk> chunks, int64_t threads) {
  std::vector<Counts> parts(static_cast<std::size_t>(threads));
  base::in_parallel(threads, threads, [&](int64_t first) {
    Counts& counts = parts[static_cast<std::size_t>(first)];
    for (auto i = static_cast<std::size_t>(first); i < chunks.size(); i += static_cast<std::size_t>(threads)) {
      split_words(
          chunks[i].text, [&](std::string_view word) { ++counts[word]; }, [] {});
    }
  });
  Counts all = std::move(parts[0]);
  for (const Counts& part : std::span(parts).subspan(1)) {
    for (const auto& [word, count] : part) all[word] += count;
  }
  return all;
}

void check_vocabulary_options(const VocabularyOptions& options) {
  if (options.threshold < 1) base::fail("vocabulary", "expected a threshold of at least 1, got ", options.threshold);
  if (options.most < 0) base::fail("vocabulary", "expected at most 0 (all) or more words, got ", options.most);
  if (options.multiple < 1) base::fail("vocabulary", "expected a multiple of at least 1, got ", options.multiple);
}

}  // namespace

std::vector<WordCount> count_words(std::span<const TextPiece> train, int64_t threads) {
  const std::vector<TextSource> sources = open_pieces(train);
  const std::vector<TextChunk> chunks = chunks_of(sources, Documents::pieces);
  check_chunks(chunks, threads);
  std::vector<WordCount> counts;
  for (const auto& [word, count] : counts_of(chunks, threads)) counts.push_back({std::string(word), count});
  std::ranges::sort(counts, [](const WordCount& a, const WordCount& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;  // std::string compares bytes without sign
  });
  return counts;
}

std::unique_ptr<WordCoder> make_word_coder(std::span<const TextPiece> train, const VocabularyOptions& options,
                                           int64_t threads) {
  check_vocabulary_options(options);
  std::vector<std::string> words;
  for (WordCount& counted : count_words(train, threads)) {
    if (counted.count < options.threshold || (options.most > 0 && std::ssize(words) == options.most)) break;
    if (counted.word != WordCoder::kUnknownWord) words.push_back(std::move(counted.word));
  }
  const std::string where = train.empty() ? "vocabulary" : train.front().file.string();
  if (words.empty()) base::fail(where, "expected words that come at least ", options.threshold, " times, got none");
  const int64_t over = (WordCoder::kFirstWord + std::ssize(words)) % options.multiple;
  return std::make_unique<WordCoder>(std::move(words), over == 0 ? 0 : options.multiple - over, where);
}

}  // namespace primal::data
