// The folder of one run: config.toml, metrics.jsonl, checkpoints/, best/, log.txt, result.json, analysis.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/folder_lock.h"

namespace primal::run {

class RunDirectory {
 public:
  /// Throws Error unless the folder is absent or empty: what is in there may be another run, or somebody's work.
  static void check_is_new(const std::filesystem::path& path);
  /// A new run in a folder that is absent or empty.
  static RunDirectory create(const std::filesystem::path& path, std::string_view config);
  /// A new run in a folder of that name, or NAME-2, NAME-3, ... if it is taken.
  static RunDirectory create_beside(const std::filesystem::path& path, std::string_view config);
  /// Makes such a folder, empty, and gives its path.
  static std::filesystem::path claim(const std::filesystem::path& path);
  /// An existing one, to go on with: nobody else may be working in it. A line of metrics.jsonl that a crash has cut off
  /// is removed.
  static RunDirectory resume(const std::filesystem::path& path);

  /// Removes what create() made: a run that failed before its first step leaves nothing behind. A resumed run stays.
  void discard();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  /// One line of metrics.jsonl, handed to the system at once.
  void metric(const nlohmann::json& record);
  /// Length of metrics.jsonl; a checkpoint remembers it, and a resumed run forgets what was written after it.
  int64_t metric_bytes() const;
  void forget_metrics_after(int64_t bytes);
  /// One line of log.txt.
  void log(std::string_view line);
  /// NAME in the folder, all or nothing.
  void write(const std::string& name, std::string_view text) const;

 private:
  explicit RunDirectory(std::filesystem::path path);
  static RunDirectory begin(const std::filesystem::path& path, bool made, std::string_view config);

  std::filesystem::path path_;
  bool is_new_ = false, made_folder_ = false;
  base::FolderLock lock_;
};

}  // namespace primal::run
