// The vocabulary of a text. Make it from TRAIN alone: words that only other parts have are unknown ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/text/text_pieces.h"
#include "data/text/word_coder.h"

namespace primal::data {

struct WordCount {
  std::string word;
  int64_t count;
};

/// The most frequent first, of equally frequent ones the lower bytes first: for any number of threads. <unk> is a word
/// here. Throws primal::Error as check_utf8() does.
std::vector<WordCount> count_words(std::span<const TextPiece> train, int64_t threads = 1);

struct VocabularyOptions {
  int64_t threshold = 1;  ///< words that come less often are unknown
  int64_t most = 0;       ///< keeps so many words at most; 0: all
  int64_t multiple = 8;   ///< unused ids make their number a multiple, as fairseq does it
};

/// The vocabulary of TRAIN. Throws primal::Error, also if no word is left.
std::unique_ptr<WordCoder> make_word_coder(std::span<const TextPiece> train, const VocabularyOptions& options = {},
                                           int64_t threads = 1);

}  // namespace primal::data
