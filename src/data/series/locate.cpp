#include "data/series/locate.h"

#include <primal/error.h>

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>

#include "base/nearest.h"
#include "base/text.h"

namespace primal::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = "_TRAIN.ts", kTest = "_TEST.ts";

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
  const std::optional<std::string> meant = base::nearest(name, known);
  base::fail("data set " + base::in_quotes(name), "expected ", name, kTrain, " and ", name, kTest, " in DIR/", name,
             ", DIR/uea/", name, " or DIR, got none for DIR = ", where.empty() ? "(no directory)" : where, "; ",
             meant ? "did you mean " + *meant + "? If not, " : std::string(),
             "put the files of the UEA archive into data/", name, " or set PRIMAL_DATA to the directory that has them");
}

}  // namespace

Located locate(const SearchPath& path, std::string_view name) {
  const bool is_name = !name.empty() && name != "." && name != ".." && name.find_first_of("/\\\n\r") == name.npos &&
                       name.size() <= 200 && base::is_utf8(name);
  if (!is_name) throw Error("data set: expected a name such as JapaneseVowels, got " + base::in_quotes(name));
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
