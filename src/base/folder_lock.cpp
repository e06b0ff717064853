#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/write_failure.h"
#include "primal/error.h"

namespace primal::base {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& taken) {
  const std::filesystem::path lock = folder / kLockFile;
  file_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) fail_writing(lock, "open");
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  close(file_);
  throw Error(reason == EWOULDBLOCK ? folder.string() + ": " + taken
                                    : lock.string() + ": could not be locked: " + std::strerror(reason));
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace primal::base
