#include "run/run_directory.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/atomic_file.h"
#include "primal/error.h"

namespace primal::run {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMetrics = "metrics.jsonl";

void append(const fs::path& path, std::string_view line) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << line << '\n' << std::flush;
  if (!file) throw Error(path.string() + ": could not be written: " + std::strerror(errno));
}

}  // namespace

RunDirectory::RunDirectory(fs::path path)
    : path_(std::move(path)), lock_(path_, "another process is working in this run") {}

void RunDirectory::check_is_new(const fs::path& path) {
  if (!fs::exists(path / "config.toml")) return;
  throw Error(path.string() + ": there is a run already; go on with it by --resume " + path.string());
}

RunDirectory RunDirectory::create(const fs::path& path, std::string_view config) {
  check_is_new(path);
  std::error_code failure;
  const bool made = fs::create_directories(path, failure);
  if (failure) throw Error(path.string() + ": could not be created: " + failure.message());
  RunDirectory run(path);
  run.is_new_ = true;
  run.made_folder_ = made;
  run.write("config.toml", config);
  return run;
}

void RunDirectory::discard() {
  if (!is_new_) return;
  std::error_code ignored;
  if (made_folder_) {
    fs::remove_all(path_, ignored);
  } else {  // what else is in there may not be ours
    for (const char* name : {"config.toml", "data.json", "log.txt", ".lock"}) fs::remove(path_ / name, ignored);
  }
}

RunDirectory RunDirectory::resume(const fs::path& path) {
  if (!fs::exists(path / "config.toml")) throw Error(path.string() + ": no run here (config.toml is missing)");
  return RunDirectory(path);
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
