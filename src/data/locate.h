// Where the UEA sets are: NAME_TRAIN.ts and NAME_TEST.ts in DIR/NAME/, DIR/uea/NAME/ or DIR/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

/// Directories in the order in which they are looked at; they need not exist.
struct SearchPath {
  std::vector<std::filesystem::path> directories;
};

/// The directory of the option --data (if not empty), those of PRIMAL_DATA (`environment`, separated by colons), data/
/// in the working directory, and the sets inside an aeon wheel installed in `virtual_environment` (if not empty).
SearchPath search_path(const std::filesystem::path& option, std::string_view environment,
                       const std::filesystem::path& virtual_environment);

struct Located {
  std::string name;
  std::filesystem::path train, test;
};

/// Throws primal::Error that says what was looked for, where, which name may have been meant and how to get the set.
Located locate(const SearchPath& path, std::string_view name);

struct Found {
  std::string name;
  std::filesystem::path directory;
};

/// Every set with both files, by name; of two with the same name the one that locate() takes.
std::vector<Found> list(const SearchPath& path);

}  // namespace primal::data
