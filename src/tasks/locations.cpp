#include "tasks/locations.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/nearest.h"
#include "primal/error.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<fs::path> find_preset(const std::string& name) {
  for (const fs::path& folder : preset_folders()) {
    const fs::path file = folder / (name + ".toml");
    if (fs::exists(file)) return file.lexically_normal();
  }
  return std::nullopt;
}

fs::path virtual_environment() {
  const fs::path own = checkout() / ".venv";
  return fs::exists(own) ? own.lexically_normal() : fs::path(variable("VIRTUAL_ENV"));
}

}  // namespace

fs::path program_folder() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown).parent_path();
}

// In a checkout the program is build/PRESET/bin/primal; installed, PREFIX/bin/primal.
fs::path checkout() { return (program_folder() / ".." / ".." / "..").lexically_normal(); }

std::vector<fs::path> preset_folders() {
  return {"configs", checkout() / "configs", program_folder() / ".." / "share" / "primal" / "configs"};
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const fs::path& folder : preset_folders()) {
    std::error_code missing;
    for (const auto& file : fs::recursive_directory_iterator(folder, missing)) {
      const fs::path& path = file.path();
      if (path.extension() != ".toml" || path.filename().string().starts_with('_')) continue;
      names.push_back(fs::relative(path, folder).replace_extension().generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool is_preset(const std::string& name) { return find_preset(name).has_value(); }

fs::path preset_file(const std::string& name) {
  if (fs::path(name).extension() == ".toml") {
    if (!fs::exists(name)) throw Error("there is no file " + name);
    return name;
  }
  if (const auto file = find_preset(name)) return *file;
  const auto meant = base::nearest(name, preset_names());
  throw Error("there is no preset " + name + (meant ? "; did you mean " + *meant + "?" : "") +
              " (--presets lists all)");
}

data::SearchPath data_search_path(const std::string& option) {
  if (!option.empty() && !fs::is_directory(option)) throw Error("--data " + option + ": there is no such folder");
  return data::search_path(option, variable("PRIMAL_DATA"), virtual_environment());
}

}  // namespace primal::tasks
