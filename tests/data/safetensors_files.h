// A folder with a safetensors file for every test, and files made by hand.
#pragma once

#include <gtest/gtest.h>
#include <primal/error.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/files.h"

namespace primal::tests {

namespace fs = std::filesystem;

class Safetensors : public FolderTest {
 protected:
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  const fs::path path = folder / "model.safetensors";
};

/// The message, or that there was none: some files may be whole by chance.
template <typename Work>
std::string error_if_any(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline void write_anew(const fs::path& path, const std::string& bytes) {
  fs::remove(path);  // some file systems go to the disk when a file is overwritten in place
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

/// A file with this header, right or wrong, and this many bytes of data: 1, 1, 1, ...
inline std::string file_of(const std::string& json, std::size_t data_size) {
  return length_bytes(json.size()) + json + std::string(data_size, '\1');
}

}  // namespace primal::tests
