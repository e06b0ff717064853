// Data sets as they are published, where PRIMAL_DATA has them.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "data/search_path.h"

namespace primal::tests {

inline constexpr const char* kNoRealData = "PRIMAL_DATA is not set, or the data set is not in it";  // why to skip

/// The folder of this name, "lra/imdb", in one of the directories of PRIMAL_DATA; empty if there is none.
inline std::filesystem::path real_data(const std::filesystem::path& name) {
  const char* const directories = std::getenv("PRIMAL_DATA");
  if (directories == nullptr) return {};
  for (const std::filesystem::path& directory : data::search_path({}, directories, {}).directories) {
    if (std::filesystem::is_directory(directory / name)) return directory / name;
  }
  return {};
}

}  // namespace primal::tests
