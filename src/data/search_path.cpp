#include "data/search_path.h"

#include <algorithm>
#include <system_error>

namespace primal::data {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> result;
  for (fs::directory_iterator at(directory, ignored), end; !ignored && at != end; at.increment(ignored)) {
    result.push_back(at->path());
  }
  std::ranges::sort(result);
  return result;
}

SearchPath search_path(const fs::path& option, std::string_view environment, const fs::path& virtual_environment) {
  SearchPath result;
  if (!option.empty()) result.directories.push_back(option);
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find(':'), environment.size());
    if (end > 0) result.directories.emplace_back(environment.substr(0, end));
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  result.directories.emplace_back("data");
  if (virtual_environment.empty()) return result;
  for (const fs::path& python : entries(virtual_environment / "lib")) {
    if (!python.filename().string().starts_with("python3")) continue;
    const fs::path data = python / "site-packages" / "aeon" / "datasets" / "data";
    std::error_code ignored;
    if (fs::is_directory(data, ignored)) result.directories.push_back(data);
  }
  return result;
}

}  // namespace primal::data
