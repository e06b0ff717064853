#include "tasks/report.h"

#include <set>

#include "base/atomic_file.h"
#include "report/report_page.h"
#include "run/run.h"

namespace primal::tasks {

namespace fs = std::filesystem;

fs::path write_report(const std::vector<fs::path>& folders, const fs::path& output) {
  std::vector<run::Run> runs;
  std::set<fs::path> known;  // a run given twice counts once
  for (const fs::path& folder : folders) {
    for (const fs::path& run : run::runs_in(folder)) {
      if (known.insert(fs::canonical(run)).second) runs.push_back(run::load_run(run));
    }
  }
  const fs::path target = output.empty() ? folders.front() / "report.html" : output;
  base::write_file_atomically(target, report::report_page(runs));
  return target;
}

}  // namespace primal::tasks
