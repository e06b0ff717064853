// From token sets to what a model sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/tokens/token_set.h"
#include "models/token_classifier.h"

namespace primal::tasks {

/// How tokens become ids, and how far sequences are padded.
struct TokenCoding {
  int64_t first_id = 1;          ///< of token 0; 0 is the id of padding
  int64_t padded_to = 0;         ///< tokens; 0: the longest of the batch
  bool zero_is_padding = false;  ///< published for images: then first_id is 0, and such tokens are masked
};

/// Of pairs the first sequences come first.
models::TokenBatch batch_of(const data::TokenSet& set, std::span<const int64_t> examples, const TokenCoding& coding);

/// -> [B] int64
torch::Tensor labels_of(const data::TokenSet& set, std::span<const int64_t> examples);

/// All examples, or the first ones, in groups of about as many tokens as fit into bounded memory, padding included.
/// Each group has sequences of about the same length, so that little is padded.
std::vector<std::vector<int64_t>> evaluation_groups(const data::TokenSet& set, std::span<const int64_t> examples,
                                                    const TokenCoding& coding);

/// What an example costs the model, in tokens.
int64_t padded_tokens(const data::TokenSet& set, int64_t example, const TokenCoding& coding);

}  // namespace primal::tasks
