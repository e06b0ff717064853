// The packed file of a TokenSet, which is read about as fast as memory is copied. Numbers are little-endian:
//
//   8 bytes  "PRMLTOKS"
//   u32      version, 1
//   u32      sequences of an example, 1 or 2
//   u64      examples
//   u64      tokens of all sequences
//   u64      bytes of the description below
//   u64      bytes of the class names below
//   u32 x 3  CRC-32C of the labels, of the ends and of the tokens
//   u32      CRC-32C of the 60 bytes above, of the description and of the class names
//   text     description: what the set was made from
//   u32 and as many bytes per class   its name
//   1 byte per example                label
//   u64 per sequence                  where it ends among the tokens
//   1 byte per token
#pragma once

#include <filesystem>
#include <string_view>

#include "data/tokens/token_set.h"

namespace primal::data {

/// Throws primal::Error, "<path>: ...", if the parts of the set do not fit together or the file cannot be written; then
/// there is no file, or the one of before.
void write_token_file(const std::filesystem::path& path, const TokenSet& set, std::string_view description);

/// Every number is checked before it is used, and memory is bounded by the size of the file. Throws primal::Error,
/// "<path>: ...", also if the file has another description.
TokenSet read_token_file(const std::filesystem::path& path, std::string_view description);
/// The same of bytes in memory; `name` begins the message of an error.
TokenSet parse_token_file(std::string_view file, std::string_view name, std::string_view description);

}  // namespace primal::data
