// Where the UEA sets are: NAME_TRAIN.ts and NAME_TEST.ts in DIR/NAME/, DIR/uea/NAME/ or DIR/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/search_path.h"

namespace primal::data {

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
