#include "tasks/offline_rl/home_sets.h"

#include <algorithm>

#include "base/failure.h"
#include "base/text.h"
#include "tasks/locations.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFamilyFolder = "offline-rl";

}  // namespace

std::string HomeSet::name() const {
  return std::string(environments::info(robot).name) + "-" + std::string(environments::name_of(kind));
}

std::string HomeSet::file_name() const {
  std::string kind_name(environments::name_of(kind));
  std::ranges::replace(kind_name, '-', '_');
  return std::string(environments::info(robot).name) + "_" + kind_name + "-home.hdf5";
}

const std::vector<HomeSet>& home_sets() {
  static const std::vector<HomeSet> all = [] {
    std::vector<HomeSet> sets;
    for (const environments::RobotInfo& robot : environments::robots()) {
      for (const environments::DataKind kind : environments::data_kinds()) sets.push_back({robot.robot, kind});
    }
    return sets;
  }();
  return all;
}

std::optional<HomeSet> home_set(const std::string& name) {
  const std::string prefix = std::string(kFamilyFolder) + "/";
  const std::string wanted = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  for (const HomeSet& set : home_sets()) {
    if (set.name() == wanted) return set;
  }
  return std::nullopt;
}

std::optional<fs::path> find_home_file(const HomeSet& set, const data::SearchPath& search) {
  std::error_code ignored;
  for (const fs::path& directory : search.directories) {
    const fs::path family = directory / kFamilyFolder;
    for (const fs::path& folder : {family / set.name(), family, directory / set.name(), directory}) {
      if (fs::is_regular_file(folder / set.file_name(), ignored)) return folder / set.file_name();
    }
  }
  return std::nullopt;
}

fs::path policies_file(environments::Robot robot) {
  const std::string name(environments::info(robot).name);
  const fs::path file = fs::path(kFamilyFolder) / "policies" / (name + ".json");
  for (const fs::path& folder : preset_folders()) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / file, ignored)) return (folder / file).lexically_normal();
  }
  base::fail("policies of " + name, "expected configs/", file.string(),
             " beside the presets, got none; --policy train trains them anew");
}

}  // namespace primal::tasks
