// Data sets of robots that the program records itself: their names, files, and where they are looked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/search_path.h"
#include "environments/recording.h"
#include "environments/robots.h"

namespace primal::tasks {

/// A set by its two parts; name: "hopper-medium-replay".
struct HomeSet {
  environments::Robot robot = environments::Robot::hopper;
  environments::DataKind kind = environments::DataKind::medium;

  std::string name() const;
  /// "hopper_medium_replay-home.hdf5": never a name that D4RL's files have.
  std::string file_name() const;
};

/// All robots, all kinds.
const std::vector<HomeSet>& home_sets();
/// By its name, which may begin with "offline-rl/". Nothing if there is none.
std::optional<HomeSet> home_set(const std::string& name);

/// The file of a set in a folder of the search path: in offline-rl/NAME/, offline-rl/, NAME/ or itself. Nothing if it
/// is not there.
std::optional<std::filesystem::path> find_home_file(const HomeSet& set, const data::SearchPath& search);

/// The policies of a robot that came with the program: configs/offline-rl/policies/ROBOT.json. Throws Error if it is
/// not there.
std::filesystem::path policies_file(environments::Robot robot);

}  // namespace primal::tasks
