#include "run/run_directory.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/json_file.h"
#include "base/text.h"
#include "base/write_failure.h"
#include "primal/error.h"
#include "run/event_file.h"

namespace primal::run {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMetrics = "metrics.jsonl";

void append(const fs::path& path, std::string_view line) {
  errno = 0;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << line << '\n' << std::flush;
  if (!file) base::fail_writing(path, "write");
}

// Of a process that ended before its first line, or of one that is about to write it.
bool is_lock(const fs::directory_entry& entry) { return entry.path().filename() == base::kLockFile; }

// What a run writes before its first step. Nothing else is removed: it may not be ours.
bool is_of_a_beginning(const std::string& name) {
  return name == "config.toml" || name == "data.json" || name == "log.txt" || name == base::kLockFile ||
         name.starts_with(kEventsPrefix);
}

// Without its line feed a line is not whole, and the next one would be glued to it.
void cut_torn_line(const fs::path& path) {
  const std::string text = base::read_text_if_any(path).value_or("");
  if (text.empty() || text.ends_with('\n')) return;
  std::error_code failure;
  fs::resize_file(path, text.rfind('\n') + 1, failure);  // npos + 1 is 0: the only line
  if (failure) base::fail_writing(path, "cut off its last line", failure);
}

}  // namespace

RunDirectory::RunDirectory(fs::path path)
    : path_(std::move(path)), lock_(path_, "another process is working in this run") {}

void RunDirectory::check_is_new(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw Error(path.string() + ": is not a folder");
  if (fs::exists(path / "config.toml")) {
    throw Error(path.string() + ": there is a run already; go on with it by --resume " + base::shell_word(path));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (is_lock(entry)) continue;
    throw Error(path.string() + ": a new run needs a folder that is absent or empty, but there is " +
                entry.path().filename().string() + " in this one");
  }
}

RunDirectory RunDirectory::create(const fs::path& path, std::string_view config) {
  check_is_new(path);
  std::error_code failure;
  const bool made = fs::create_directories(path, failure);
  if (failure) base::fail_writing(path, "create it", failure);
  return begin(path, made, config);
}

RunDirectory RunDirectory::create_beside(const fs::path& path, std::string_view config) {
  return begin(claim(path), /*made=*/true, config);
}

RunDirectory RunDirectory::begin(const fs::path& path, bool made, std::string_view config) {
  RunDirectory run(path);
  check_is_new(path);  // another process may have been quicker
  run.is_new_ = true;
  run.made_folder_ = made;
  try {
    run.write("config.toml", config);
  } catch (const std::exception&) {
    run.discard();
    throw;
  }
  return run;
}

fs::path RunDirectory::claim(const fs::path& path) {
  std::error_code failure;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), failure);
  for (int number = 1; !failure; ++number) {
    fs::path candidate = path;
    if (number > 1) candidate += "-" + std::to_string(number);
    if (fs::create_directory(candidate, failure)) return candidate;  // for one process alone
  }
  base::fail_writing(path, "create it", failure);
}

void RunDirectory::discard() {
  if (!is_new_) return;
  std::error_code ignored;
  std::vector<fs::path> own;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored)) {
    if (is_of_a_beginning(entry.path().filename().string())) own.push_back(entry.path());
  }
  for (const fs::path& file : own) fs::remove(file, ignored);
  if (made_folder_) fs::remove(path_, ignored);
}

RunDirectory RunDirectory::resume(const fs::path& path) {
  if (!fs::exists(path / "config.toml")) throw Error(path.string() + ": no run here (config.toml is missing)");
  RunDirectory run(path);
  cut_torn_line(path / kMetrics);
  return run;
}

void RunDirectory::metric(const nlohmann::json& record) { append(path_ / kMetrics, record.dump()); }

int64_t RunDirectory::metric_bytes() const {
  std::error_code missing;
  const auto bytes = fs::file_size(path_ / kMetrics, missing);
  return missing ? 0 : static_cast<int64_t>(bytes);
}

void RunDirectory::forget_metrics_after(int64_t bytes) {
  if (bytes < metric_bytes()) fs::resize_file(path_ / kMetrics, static_cast<uintmax_t>(bytes));
}

void RunDirectory::log(std::string_view line) { append(path_ / "log.txt", line); }

void RunDirectory::write(const std::string& name, std::string_view text) const {
  base::write_file_atomically(path_ / name, text);
}

}  // namespace primal::run
