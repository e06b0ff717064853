// Pathfinder pictures as the Long Range Arena releases them: imgs/<batch>/sample_<k>.png, and for each batch a text
// metadata/<batch>.npy (which is no NumPy array in spite of its name) with a line per picture:
//
//   imgs/0 sample_0.png 0 1 1.0 14 4 2 0.5 1 1
//
// folder and name of the picture, its number, the label (1 = joined), then continuity, contour length, distractor
// length, dash length, thickness, margin, number of contrasts.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "data/images/pathfinder_batches.h"
#include "data/series/line_source.h"
#include "data/tokens/token_set.h"

namespace primal::data {

struct PathfinderFolder {
  TokenSet pictures{};      ///< a token is a grey value; in the order of the metadata
  int64_t empty_files = 0;  ///< files without a byte, which are passed over: the released easy set has one
};

/// `folder` has imgs/ and metadata/; pictures of another size are refused. Throws primal::Error, "<file>:<line>: ...".
PathfinderFolder read_pathfinder_folder(const std::filesystem::path& folder, int64_t size,
                                        const PathfinderProgress& progress = {});

/// A line of the metadata.
struct PathfinderEntry {
  std::filesystem::path image;  ///< below the folder
  uint8_t label = 0;
  int64_t line = 0;  ///< its number
};
std::vector<PathfinderEntry> parse_pathfinder_metadata(LineSource lines);

/// Writes this layout into a folder that has no pictures yet. The metadata of a batch are written after its pictures,
/// so that what they name is there. False if it was interrupted; the batches that are complete stay.
bool make_pathfinder_folder(const std::filesystem::path& folder, const PathfinderOrder& order);

}  // namespace primal::data
