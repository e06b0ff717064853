#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "base/write_failure.h"

namespace primal::base {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(const fs::path& given) : path_(given) {
  std::error_code ignored;  // what cannot be looked at cannot be written either, and says so below
  // A link stays one: what it stands for is written. /dev/stdout may be a link to a file.
  if (fs::is_symlink(given, ignored)) {
    const fs::path target = fs::canonical(given, ignored);
    if (!target.empty()) path_ = target;
  }
  const fs::path& path = path_;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(path.string(), "is a directory, expected a file to write");
  is_device_ = fs::is_other(status);
  if (is_device_) {  // a rename would replace it
    file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_.is_open()) fail_writing(path, "open");
    return;
  }
  const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
  directory_ = FileDescriptor(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.is_open()) fail_writing(path, "open its directory");
  if (fs::exists("/proc/self/fd", ignored)) {  // needed to give it a name
    file_ = FileDescriptor(::openat(directory_.get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  }
  if (!file_.is_open()) open_temporary();
}

AtomicFile::~AtomicFile() {
  if (!committed_ && !temporary_.empty()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
}

namespace {

// Short, so that it fits wherever the target's name does. Another thread or a dead process may hold the name.
std::string temporary_name(int attempt) {
  return ".primal-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
}

}  // namespace

void AtomicFile::open_temporary() {
  for (int attempt = 0; !file_.is_open(); ++attempt) {
    std::string name = temporary_name(attempt);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    file_ = FileDescriptor(::openat(directory_.get(), name.c_str(), kFlags, 0666));
    if (!file_.is_open() && errno != EEXIST) fail_writing(path_, "create a temporary file beside it");
    if (file_.is_open()) temporary_ = std::move(name);
  }
}

// A rename replaces what is there; linking a file that has no name does not.
bool AtomicFile::give_temporary_name() {
  const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    std::string name = temporary_name(attempt);
    if (::linkat(AT_FDCWD, self.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST) {
      return false;
    }
  }
  return true;
}

void AtomicFile::write(const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file_.get(), next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(path_, "write");
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (is_device_) {
    if (!file_.close()) fail_writing(path_, "write");
    committed_ = true;
    return;
  }
  if (::fsync(file_.get()) != 0 || !give_temporary_name() || !file_.close()) fail_writing(path_, "write");
  if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), path_.filename().c_str()) != 0) {
    fail_writing(path_, "rename the temporary file");
  }
  committed_ = true;
  // EINVAL: a file system whose directories need no sync.
  if (::fsync(directory_.get()) != 0 && errno != EINVAL) fail_writing(path_, "sync its directory");
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace primal::base
