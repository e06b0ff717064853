// The packed file of Pathfinder pictures. One file instead of 200,000 little ones: those take minutes to write, to copy
// and to open, and need a decoder. Numbers are little-endian:
//
//   8 bytes  "PRMLPATH"
//   u32      version, 1
//   u32      size: side of a picture in pixels
//   u64      count of pictures
//   u32      length of the text below
//   u32      CRC-32C of the 28 bytes above and of the text
//   text     how they were made: "name = value" lines
//   then for every 1000 pictures, the last time for the rest of them:
//   u32      CRC-32C of what follows
//   1 byte per picture          label: 0 = apart, 1 = joined
//   size x size per picture     grey values, row by row
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "data/images/pathfinder_batches.h"
#include "data/tokens/token_set.h"

namespace primal::data {

/// "pathfinder32_contour_14.images".
std::string pathfinder_file_name(const PathfinderOptions& options);

/// False if it was interrupted; then there is no file, or the one of before.
bool make_pathfinder_file(const std::filesystem::path& path, const PathfinderOrder& order);

struct PathfinderFile {
  int64_t size = 0;     ///< side of a picture
  std::string how{};    ///< how they were made: "name = value" lines
  TokenSet pictures{};  ///< a token is a grey value
};

/// Throws primal::Error, "<path>: ...".
PathfinderFile read_pathfinder_file(const std::filesystem::path& path);
/// The same of bytes in memory; `name` begins the message of an error.
PathfinderFile parse_pathfinder_file(std::string_view file, std::string_view name);

}  // namespace primal::data
