#include "tasks/make_data.h"

#include <system_error>

#include "base/interrupt.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

// Those that have to be made for this one, and itself; the innermost first.
std::vector<fs::path> folders_to_make(fs::path folder) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  folder = fs::absolute(folder, ignored);
  while (!folder.empty() && !fs::exists(folder, ignored)) {
    missing.push_back(folder);
    folder = folder.parent_path();
  }
  return missing;
}

}  // namespace

fs::path default_folder(const DataMaker& maker) { return fs::path("data") / maker.name; }

bool make_data(const DataMaker& maker, MakeRequest request, base::Progress& progress) {
  const base::InterruptGuard guard;
  const std::string label = "making " + std::string(maker.name);
  const std::vector<fs::path> new_folders = folders_to_make(request.folder);
  request.stop = [&] { return guard.interrupted(); };
  request.progress = [&](int64_t done, int64_t of) {
    progress.update({.step = done, .steps = of, .done_steps = done, .total_steps = of, .label = label});
  };
  const bool is_done = maker.make(request);
  progress.finish();
  std::error_code not_empty;
  if (!is_done) {
    for (const fs::path& folder : new_folders) fs::remove(folder, not_empty);
  }
  return is_done;
}

}  // namespace primal::tasks
