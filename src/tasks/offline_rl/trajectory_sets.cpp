#include "tasks/offline_rl/trajectory_sets.h"

#include <algorithm>

#include "base/failure.h"
#include "base/text.h"
#include "tasks/offline_rl/found_or_made.h"
#include "tasks/offline_rl/home_sets.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> d4rl_places(const D4rlSet& set, const fs::path& directory) {
  return {directory / "d4rl" / set.file_name(), directory / "offline-rl" / set.file_name(),
          directory / set.file_name()};
}

std::string every_name() {
  std::vector<std::string> names;
  for (const HomeSet& set : home_sets()) names.push_back(set.name());
  for (const D4rlSet& set : d4rl_sets()) names.push_back(set.name());
  return base::joined(names, ", ");
}

}  // namespace

std::string D4rlSet::name() const { return HomeSet{robot, kind}.name() + "-v2"; }

std::string D4rlSet::file_name() const {
  std::string text = HomeSet{robot, kind}.name();
  std::ranges::replace(text, '-', '_');
  return text + "-v2.hdf5";
}

const std::vector<D4rlSet>& d4rl_sets() {
  static const std::vector<D4rlSet> all = [] {
    std::vector<D4rlSet> sets;
    for (const HomeSet& set : home_sets()) sets.push_back({set.robot, set.kind});
    return sets;
  }();
  return all;
}

std::optional<D4rlSet> d4rl_set(const std::string& name) {
  const auto found = std::ranges::find(d4rl_sets(), name, &D4rlSet::name);
  return found == d4rl_sets().end() ? std::nullopt : std::optional(*found);
}

std::optional<fs::path> find_d4rl_file(const D4rlSet& set, const data::SearchPath& search) {
  std::error_code ignored;
  for (const fs::path& directory : search.directories) {
    for (const fs::path& file : d4rl_places(set, directory)) {
      if (fs::is_regular_file(file, ignored)) return file;
    }
  }
  return std::nullopt;
}

std::vector<double> published_targets(environments::Robot robot) {
  switch (robot) {
    case environments::Robot::half_cheetah:
      return {12000, 6000};
    case environments::Robot::hopper:
      return {3600, 1800};
    case environments::Robot::walker2d:
      break;
  }
  return {5000, 2500};
}

fs::path trajectory_file(const std::string& name, const data::SearchPath& search, base::Progress* progress,
                         int64_t threads) {
  if (home_set(name)) return found_or_made(name, search, progress, threads);
  const auto set = d4rl_set(name);
  if (!set) base::fail("data.set", "expected one of ", every_name(), ", got ", base::in_quotes(name));
  if (const auto found = find_d4rl_file(*set, search)) return *found;
  std::vector<std::string> where;
  for (const fs::path& directory : search.directories) where.push_back(directory.string());
  base::fail("data.set=" + name, "expected DIR/d4rl/", set->file_name(),
             ", got none for DIR = ", base::joined(where, ", "),
             "; D4RL offers the file, and primal data make offline-rl/", HomeSet{set->robot, set->kind}.name(),
             " records a set of the same kind");
}

}  // namespace primal::tasks
