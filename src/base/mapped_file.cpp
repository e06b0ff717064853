#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_descriptor.h"

namespace primal::base {

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view expected) {
  // A pipe must not block here; for regular files O_NONBLOCK means nothing.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) fail_errno(path, "open");
  if (S_ISDIR(status.st_mode)) fail(path.string(), "is a directory, expected ", expected);
  if (!S_ISREG(status.st_mode)) fail(path.string(), "is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // which cannot be mapped
  // Without MAP_NORESERVE a file larger than the free memory could not be mapped, though few pages may ever change.
  void* start = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (start == MAP_FAILED) fail_errno(path, "map");
  start_ = static_cast<std::byte*>(start);
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) ::munmap(start_, size_);
}

}  // namespace primal::base
