// A vocabulary of subwords, learnt from a text by sentencepiece. A build without it throws primal::Error here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/text/text_pieces.h"

namespace primal::data {

struct SubwordTraining {
  int64_t size = 8000;               ///< ids, of which 260 are marks and bytes
  uint64_t most_bytes = 10'000'000;  ///< of text that is looked at: of a longer one, lines all over it
};

/// The bytes of a model that SubwordCoder takes: <s> 0, <pad> 1, </s> 2, <unk> 3, then bytes and pieces. Make it from
/// TRAIN alone. The same text gives the same bytes. Throws primal::Error, also if the text is too short for so many.
std::string train_subwords(std::span<const TextPiece> train, const SubwordTraining& training = {});

}  // namespace primal::data
