// Where data sets are looked for.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace primal::data {

/// Directories in the order in which they are looked at; they need not exist.
struct SearchPath {
  std::vector<std::filesystem::path> directories;
};

/// The directory of the option --data (if not empty), those of PRIMAL_DATA (`environment`, separated by colons), data/
/// in the working directory, and the sets inside packages installed in `virtual_environment` (if not empty).
SearchPath search_path(const std::filesystem::path& option, std::string_view environment,
                       const std::filesystem::path& virtual_environment);

/// What is in a directory, sorted. One that cannot be read counts as empty: a search passes over it.
std::vector<std::filesystem::path> entries(const std::filesystem::path& directory);

}  // namespace primal::data
