// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace primal::base {

/// Writes a file without a name in the target's directory; commit() syncs it to the disk and gives it the name. Without
/// commit() the target stays as it was and nothing is left behind, even if the process is killed. On a system without
/// such files it has a temporary name, which a kill leaves behind. A device or a pipe is written directly. Every
/// failure throws primal::Error, "<path>: ...", which is a WriteFailure if the name is good.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& given);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t size);
  void commit();

 private:
  void open_temporary();
  bool give_temporary_name();

  std::filesystem::path path_;
  std::string temporary_;  // empty while the file has no name
  bool is_device_ = false;
  FileDescriptor directory_, file_;
  bool committed_ = false;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace primal::base
