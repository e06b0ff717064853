// A folder that only one process works in.
#pragma once

#include <filesystem>
#include <string>

namespace primal::base {

inline constexpr const char* kLockFile = ".lock";

/// Holds FOLDER/.lock; the system lets go of it when the process ends, however it does.
class FolderLock {
 public:
  /// Throws Error, "FOLDER: <taken>", if another process has it.
  FolderLock(const std::filesystem::path& folder, const std::string& taken);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  int file_ = -1;
};

}  // namespace primal::base
