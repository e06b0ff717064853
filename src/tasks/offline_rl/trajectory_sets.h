// Sets of logged episodes by their names: those that primal records, and D4RL's, which are only read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/search_path.h"
#include "environments/recording.h"
#include "environments/robots.h"

namespace primal::tasks {

/// A set of D4RL, version 2; name: "hopper-medium-replay-v2".
struct D4rlSet {
  environments::Robot robot = environments::Robot::hopper;
  environments::DataKind kind = environments::DataKind::medium;

  std::string name() const;
  std::string file_name() const;  ///< "hopper_medium_replay-v2.hdf5"
};

const std::vector<D4rlSet>& d4rl_sets();
/// Nothing if there is none of that name.
std::optional<D4rlSet> d4rl_set(const std::string& name);
/// In a folder of the search path: in d4rl/, offline-rl/ or itself. Nothing if it is not there.
std::optional<std::filesystem::path> find_d4rl_file(const D4rlSet& set, const data::SearchPath& search);

/// Returns that published agents are asked for.
std::vector<double> published_targets(environments::Robot robot);

/// The file of a set of either kind. One of primal's that is missing is made where there is progress; threads: 0 for
/// one per core. Throws Error that says what was looked for, where, and how to get it.
std::filesystem::path trajectory_file(const std::string& set, const data::SearchPath& search, base::Progress* progress,
                                      int64_t threads);

}  // namespace primal::tasks
