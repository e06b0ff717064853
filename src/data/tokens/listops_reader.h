// Files of ListOps: basic_train.tsv, basic_val.tsv and basic_test.tsv of the Long Range Arena.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/series/line_source.h"
#include "data/tokens/token_set.h"

namespace primal::data {

inline constexpr int64_t kMostListOpsTokens = 1'000'000;  ///< of one expression; the released ones have up to 1999

/// A line "Source<tab>Target", then an expression, a tab and its value per line. The tokens are numbered as in
/// kListOpsTokens, parentheses are left out, classes are "0" to "9". Whether an expression is complete and its label
/// right is not looked at. Throws primal::Error, "<path>:<line>: expected ..., got ...".
TokenSet read_listops(const std::filesystem::path& path);
TokenSet read_listops(LineSource lines);

}  // namespace primal::data
