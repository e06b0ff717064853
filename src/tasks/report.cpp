#include "tasks/report.h"

#include <algorithm>
#include <set>

#include "data/atomic_file.h"
#include "primal/error.h"
#include "report/report_page.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> runs_in(const fs::path& folder) {
  if (fs::exists(folder / "config.toml")) return {folder};
  std::vector<fs::path> runs;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (fs::exists(entry.path() / "config.toml")) runs.push_back(entry.path());
  }
  if (runs.empty()) throw Error(folder.string() + ": no run here (config.toml is missing)");
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

fs::path write_report(const std::vector<fs::path>& folders, const fs::path& output) {
  std::vector<report::Run> runs;
  std::set<fs::path> known;  // a run given twice counts once
  for (const fs::path& folder : folders) {
    for (const fs::path& run : runs_in(folder)) {
      if (known.insert(fs::canonical(run)).second) runs.push_back(report::load_run(run));
    }
  }
  const fs::path target = output.empty() ? folders.front() / "report.html" : output;
  data::write_file_atomically(target, report::report_page(runs));
  return target;
}

}  // namespace primal::tasks
