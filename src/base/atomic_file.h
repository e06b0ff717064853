// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace primal::base {

/// Writes a temporary file beside the target; commit() syncs it to the disk and renames it. Without commit() the target
/// stays as it was and nothing is left behind. Every failure throws primal::Error, "<path>: ...".
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t size);
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  FileDescriptor directory_, file_;
  bool committed_ = false;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace primal::base
