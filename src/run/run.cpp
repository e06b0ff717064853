#include "run/run.h"

#include <primal/error.h>

#include <algorithm>

#include "base/json_file.h"

namespace primal::run {

namespace fs = std::filesystem;

namespace {

std::string name_of(const fs::path& directory) {
  fs::path normal = fs::absolute(directory).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();  // "runs/a/" ends with an empty name
  return normal.filename().string();
}

}  // namespace

Run load_run(const fs::path& directory) {
  if (!fs::is_directory(directory)) throw Error(directory.string() + ": is not a directory");
  const auto config = base::read_text_if_any(directory / "config.toml");
  if (!config) throw Error(directory.string() + ": is not a run directory: it has no config.toml");

  Run run;
  run.directory = directory;
  run.name = name_of(directory);
  run.config = parse_config(*config);
  const auto read = [&](const char* name, const auto& parse) {
    const fs::path path = directory / name;
    if (const auto text = base::read_text_if_any(path)) parse(*text, path.string());
  };
  read("metrics.jsonl", [&](const auto& text, const auto& file) { run.metrics = parse_metrics(text, file); });
  read("result.json", [&](const auto& text, const auto& file) { run.result = parse_result(text, file); });
  read("analysis.json", [&](const auto& text, const auto& file) { run.spectra = parse_analysis(text, file); });
  return run;
}

std::vector<fs::path> runs_in(const fs::path& folder) {
  if (fs::exists(folder / "config.toml")) return {folder};
  std::vector<fs::path> runs;
  std::error_code missing;
  const auto has_run = [](const fs::path& path) { return fs::exists(path / "config.toml"); };
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (has_run(entry.path())) {
      runs.push_back(entry.path());
      continue;
    }
    std::error_code is_file;
    for (const auto& inner : fs::directory_iterator(entry.path(), is_file)) {
      if (has_run(inner.path())) runs.push_back(inner.path());
    }
  }
  if (runs.empty()) throw Error(folder.string() + ": no run here (config.toml is missing)");
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace primal::run
