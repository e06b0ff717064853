// A folder that goes away with everything in it.
#pragma once

#include <filesystem>

namespace primal::base {

class TemporaryFolder {
 public:
  /// A new one in `above`, which is made if it is not there. Throws WriteFailure.
  explicit TemporaryFolder(const std::filesystem::path& above = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace primal::base
