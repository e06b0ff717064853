#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>

namespace primal::base {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  std::error_code ignored;  // what cannot be looked at cannot be written either, and says so below
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(path.string(), "is a directory, expected a file to write");
  if (fs::is_other(status)) fail(path.string(), "is not a regular file");  // rename would replace a device or a pipe
  const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
  directory_ = FileDescriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.is_open()) fail_errno(path, "open its directory");
  for (int attempt = 0; !file_.is_open(); ++attempt) {
    // Short, so that it fits wherever the target's name does. Another thread or a dead process may hold the name.
    temporary_ = std::string(".primal-") + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    file_ = FileDescriptor(::openat(directory_.get(), temporary_.c_str(), kFlags, 0666));
    if (!file_.is_open() && errno != EEXIST) fail_errno(path, "create a temporary file beside it");
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
}

void AtomicFile::write(const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file_.get(), next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(path_, "write");
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0 || !file_.close()) fail_errno(path_, "write");
  if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), path_.filename().c_str()) != 0) {
    fail_errno(path_, "rename the temporary file");
  }
  committed_ = true;
  // EINVAL: a file system whose directories need no sync.
  if (::fsync(directory_.get()) != 0 && errno != EINVAL) fail_errno(path_, "sync its directory");
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace primal::base
