#include "train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/atomic_file.h"
#include "base/write_failure.h"
#include "data/checkpoint_sums.h"
#include "primal/safetensors.h"

namespace primal::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".tmp";

// A rename is on disk only when the folder is.
void sync_folder(const fs::path& folder) {
  const base::FileDescriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open() || fsync(file.get()) != 0) base::fail_writing(folder, "sync it");
}

std::optional<int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? std::optional(step) : std::nullopt;
}

// Newest first.
std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.is_directory() && step_of(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return *step_of(a) > *step_of(b); });
  return found;
}

void remove_unfinished(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().ends_with(kUnfinished)) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove_all(path, ignored);
}

// Renamed first: a removal cut short must not look like a checkpoint.
void remove_whole(const fs::path& path) {
  const fs::path away = path.string() + std::string(kUnfinished);
  std::error_code ignored;
  fs::remove_all(away, ignored);
  fs::rename(path, away, ignored);
  fs::remove_all(away, ignored);
}

// An old folder of that name is exchanged in one step, so that there always is a complete one.
void move_into_place(const fs::path& unfinished, const fs::path& target) {
  if (!fs::exists(target)) return fs::rename(unfinished, target);
  if (renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(unfinished);
  } else {  // a file system that cannot exchange
    remove_whole(target);
    fs::rename(unfinished, target);
  }
}

}  // namespace

void save_checkpoint(const fs::path& folder, const std::string& name, const Checkpoint& checkpoint) {
  const fs::path target = folder / name, unfinished = folder / (name + std::string(kUnfinished));
  fs::create_directories(folder);
  fs::remove_all(unfinished);
  fs::create_directory(unfinished);
  save_safetensors(unfinished / data::kModelFile, checkpoint.model, {{"format", "pt"}});
  if (!checkpoint.optimizer.empty()) save_safetensors(unfinished / data::kOptimizerFile, checkpoint.optimizer);
  base::write_file_atomically(unfinished / data::kStateFile, data::with_checksums(checkpoint.state, unfinished));
  sync_folder(unfinished);
  move_into_place(unfinished, target);
  sync_folder(folder);
}

Checkpoint load_checkpoint(const fs::path& path) {
  Checkpoint checkpoint;
  checkpoint.state = data::checked_state(path);
  checkpoint.model = load_safetensors(path / data::kModelFile).tensors;
  if (fs::exists(path / data::kOptimizerFile))
    checkpoint.optimizer = load_safetensors(path / data::kOptimizerFile).tensors;
  return checkpoint;
}

std::optional<fs::path> latest_checkpoint(const fs::path& folder) {
  remove_unfinished(folder);
  const std::vector<fs::path> found = checkpoints_in(folder);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

void remove_old_checkpoints(const fs::path& folder, int64_t kept) {
  const std::vector<fs::path> found = checkpoints_in(folder);
  for (size_t i = static_cast<size_t>(kept); i < found.size(); ++i) remove_whole(found[i]);
}

}  // namespace primal::train
