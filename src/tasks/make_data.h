// Data sets that the program makes itself: `primal data make`, and `primal train` where such a set is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "data/search_path.h"

namespace primal::tasks {

/// An option of one maker: --border-rule strict|relaxed, --train FILE, or a switch without a value.
struct MakeFlag {
  std::string name;  ///< "border-rule"
  std::string help;
  std::vector<std::string> values{};  ///< the first is the default; empty: any, or a switch
  std::string value{};                ///< what any value is, "FILE"; empty: a switch if there are no values
};

struct MakeRequest {
  std::filesystem::path folder;  ///< made if it is not there
  int64_t seed = 1;
  int64_t threads = 1;                           ///< nothing in the files depends on it
  std::map<std::string, std::string> options{};  ///< by the names of the flags; a switch that is on has "on"
  data::SearchPath search{};                     ///< for sets that are made from others
  std::function<void(int64_t done, int64_t of)> progress{};
  std::function<bool()> stop{};

  bool has(const std::string& flag) const { return options.contains(flag); }
};

struct DataMaker {
  std::string_view name;  ///< "lra/listops": below data/ that is also where it goes by default
  std::string_view help;  ///< one line, with size and time
  std::vector<MakeFlag> flags{};
  /// False if it was stopped: then there is nothing half-made.
  bool (*make)(const MakeRequest& request) = nullptr;
};

/// data/NAME in the working directory.
std::filesystem::path default_folder(const DataMaker& maker);

/// Makes the set with a progress bar. Ctrl-C stops it; then false.
bool make_data(const DataMaker& maker, MakeRequest request, base::Progress& progress);

}  // namespace primal::tasks
