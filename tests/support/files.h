// Files for tests: a folder of its own for every test, and errors as text.
#pragma once

#include <gtest/gtest.h>
#include <primal/error.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace primal::tests {

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "primal_test_XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }

  /// Writes a file below the folder, with the directories it needs.
  std::filesystem::path write(const std::filesystem::path& name, const std::string& bytes) const {
    std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::filesystem::path folder;
};

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The message of the primal::Error that `work` throws, or "no error".
template <typename Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace primal::tests
