// A whole file as memory, read from the disk page by page as it is touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace primal::base {

/// Private and writable: a write to the bytes stays in this process instead of ending it.
class MappedFile {
 public:
  /// `expected` is for the message about a directory: "a safetensors file". Throws primal::Error, "<path>: ...".
  MappedFile(const std::filesystem::path& path, std::string_view expected);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return {start_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(start_), size_}; }

 private:
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace primal::base
