// A text as examples: blocks of tokens, each with the token before it as input. What is scored, and what is only read.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/text/token_stream.h"
#include "tasks/language/config.h"

namespace primal::tasks {

/// Tokens begin .. end - 1 of a text are predicted; those from `scored` on count, the others are only context.
struct Window {
  int64_t begin = 0, end = 0, scored = 0;
  bool begins_document = false;  ///< before its first token stands the end of the document before

  int64_t size() const { return end - begin; }
};

/// For training: every token once, but for blocks of equal length the last, which reaches back to be as long.
std::vector<Window> training_blocks(const data::TokenStream& text, int64_t block, Breaks breaks);

/// For evaluation: every token is scored once and sees at least `context` tokens before it, where its text (or
/// document) has so many. context < block
std::vector<Window> scoring_windows(const data::TokenStream& text, int64_t block, int64_t context, Breaks breaks);

/// What a language model sees of some windows, and what it should say.
struct BlockBatch {
  torch::Tensor ids;      ///< [B, N] int64: the token before each
  torch::Tensor targets;  ///< [B, N]
  int64_t tokens = 0;     ///< real ones
};

/// end: stands before the first token of a text. padding: fills shorter windows; they must be equally long if there is
/// none.
BlockBatch batch_of(const data::TokenStream& text, std::span<const Window> windows, int64_t end,
                    std::optional<int64_t> padding);

}  // namespace primal::tasks
