// The texts that language models learn from: known sets, looked for on the search path, or the user's own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/search_path.h"
#include "data/text/text_pieces.h"

namespace primal::data {

struct LanguageParts {
  std::string name;  ///< "wikitext-2", or the name of the user's file
  std::vector<TextPiece> train, validation, test;
  Documents documents = Documents::pieces;
};

struct LanguageSet {
  std::string name;    ///< as in data.set: "wikitext-2"
  std::string help;    ///< one line
  std::string advice;  ///< how to get it
};

std::span<const LanguageSet> language_sets();

/// The folder or file with the set, or nothing. `set` is one of language_sets().
std::optional<std::filesystem::path> find_language_set(std::string_view set, const SearchPath& search);

/// The parts of a set; of enwik8 the first `bytes` bytes (0: all), which no other set takes. Throws primal::Error: for
/// an unknown name the nearest one; for a set that is missing what was looked for, where, and how to get it.
LanguageParts language_parts(const std::string& set, const SearchPath& search, uint64_t bytes = 0);

/// Files of the user, each one document. Without `validation` or `test` the last 5 % of `train` (the last but one 5 %
/// for validation if both are missing) are held out, from the beginning of a line on, so that they may be a bit more;
/// where lines are too long for that, from the beginning of a character on. Throws primal::Error, "<path>: ...".
LanguageParts own_text(const std::filesystem::path& train, const std::filesystem::path& validation = {},
                       const std::filesystem::path& test = {});

}  // namespace primal::data
