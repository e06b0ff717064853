#include "data/locate.h"

#include <primal/error.h>

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>

#include "data/nearest.h"
#include "data/safetensors_header.h"  // fail(), in_quotes()

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = "_TRAIN.ts", kTest = "_TEST.ts";

/// What cannot be read counts as empty: a search passes over it.
std::vector<fs::path> entries(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> result;
  for (fs::directory_iterator at(directory, ignored), end; !ignored && at != end; at.increment(ignored)) {
    result.push_back(at->path());
  }
  std::ranges::sort(result);
  return result;
}

std::optional<Located> in_directory(const fs::path& directory, const std::string& name) {
  std::error_code ignored;
  Located located{name, directory / (name + std::string(kTrain)), directory / (name + std::string(kTest))};
  const bool both = fs::is_regular_file(located.train, ignored) && fs::is_regular_file(located.test, ignored);
  return both ? std::optional(std::move(located)) : std::nullopt;
}

/// The three places of a set under one directory of the search path.
std::vector<fs::path> places(const fs::path& directory, const std::string& name) {
  return {directory / name, directory / "uea" / name, directory};
}

void add_sets_in(const fs::path& directory, std::map<std::string, fs::path>& found) {
  for (const fs::path& file : entries(directory)) {
    std::string name = file.filename().string();
    if (!name.ends_with(kTrain)) continue;
    name.resize(name.size() - kTrain.size());
    if (in_directory(directory, name)) found.emplace(name, directory);
  }
}

[[noreturn]] void fail_missing(const SearchPath& path, const std::string& name) {
  std::string where;
  for (const fs::path& directory : path.directories) {
    std::error_code ignored;
    where.append(where.empty() ? "" : ", ").append(directory.string());
    if (!fs::is_directory(directory, ignored)) where.append(" (not there)");
  }
  std::vector<std::string> known;
  for (const Found& found : list(path)) known.push_back(found.name);
  const std::optional<std::string> meant = nearest(name, known);
  fail("data set " + in_quotes(name), "expected ", name, kTrain, " and ", name, kTest, " in DIR/", name, ", DIR/uea/",
       name, " or DIR, got none for DIR = ", where.empty() ? "(no directory)" : where, "; ",
       meant ? "did you mean " + *meant + "? If not, " : std::string(), "put the files of the UEA archive into data/",
       name, " or set PRIMAL_DATA to the directory that has them");
}

}  // namespace

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

Located locate(const SearchPath& path, std::string_view name) {
  const bool is_name = !name.empty() && name != "." && name != ".." && name.find_first_of("/\\\n\r") == name.npos &&
                       name.size() <= 200 && is_utf8(name);
  if (!is_name) throw Error("data set: expected a name such as JapaneseVowels, got " + in_quotes(name));
  const std::string wanted(name);
  for (const fs::path& directory : path.directories) {
    for (const fs::path& place : places(directory, wanted)) {
      if (std::optional<Located> located = in_directory(place, wanted)) return *std::move(located);
    }
  }
  fail_missing(path, wanted);
}

std::vector<Found> list(const SearchPath& path) {
  std::map<std::string, fs::path> found;  // emplace() keeps the first of each name
  for (const fs::path& directory : path.directories) {
    for (const fs::path& entry : entries(directory)) add_sets_in(entry, found);
    for (const fs::path& entry : entries(directory / "uea")) add_sets_in(entry, found);
    add_sets_in(directory, found);
  }
  std::vector<Found> result;
  for (const auto& [name, directory] : found) result.push_back({name, directory});
  return result;
}

}  // namespace primal::data
