#include "tasks/offline_rl/found_or_made.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/failure.h"
#include "base/text.h"
#include "tasks/make_data.h"
#include "tasks/offline_rl/home_sets.h"
#include "tasks/offline_rl/makers.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

const DataMaker& maker_of(const HomeSet& set) {
  const std::string name = "offline-rl/" + set.name();
  return *std::ranges::find(offline_rl_makers(), name, &DataMaker::name);
}

[[noreturn]] void fail_missing(const HomeSet& set, const data::SearchPath& search) {
  std::vector<std::string> where;
  for (const fs::path& directory : search.directories) {
    where.push_back(directory.string() + (fs::is_directory(directory) ? "" : " (not there)"));
  }
  base::fail("data of offline-rl/" + set.name(), "expected DIR/offline-rl/", set.name(), "/", set.file_name(),
             ", got none for DIR = ", where.empty() ? "(no directory)" : base::joined(where, ", "),
             "; primal data make offline-rl/", set.name(),
             " makes it, or set PRIMAL_DATA to the directory that has it");
}

}  // namespace

fs::path found_or_made(const std::string& name, const data::SearchPath& search, base::Progress* progress,
                       int64_t threads) {
  const auto set = home_set(name);
  if (!set) {
    std::vector<std::string> names;
    for (const HomeSet& known : home_sets()) names.push_back(known.name());
    base::fail("data set", "expected one of ", base::joined(names, ", "), ", got ", base::in_quotes(name));
  }
  if (const auto found = find_home_file(*set, search)) return *found;
  if (progress == nullptr) fail_missing(*set, search);
  const DataMaker& maker = maker_of(*set);
  const fs::path folder = default_folder(maker);
  progress->line(std::string(maker.name) + " is not there: making it in " + folder.string());
  if (threads == 0) threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  if (!make_data(maker, {.folder = folder, .threads = threads, .search = search}, *progress)) {
    throw base::Interrupted("interrupted; nothing was made, the next call begins anew");
  }
  return folder / set->file_name();
}

}  // namespace primal::tasks
