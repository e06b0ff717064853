// From a preset, a file or a run directory to a checked configuration and its family.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tasks/family.h"

namespace primal::tasks {

struct Resolved {
  const Family* family = nullptr;
  std::unique_ptr<Config> config;
};

struct ConfigRequest {
  std::string preset = default_preset();
  std::vector<std::string> set{};  ///< "key=value", in order
  std::string data{};              ///< --data: some presets stand for sets that are there
};

/// Preset, environment, then `set`. Throws Error for what does not fit.
Resolved resolve_config(const ConfigRequest& request);
/// Every key with its value under the request, and its help.
std::string list_keys(const ConfigRequest& request);

/// From config.toml of a run, or from another file of that form, with the changes that `set` asks for.
Resolved read_config(const std::filesystem::path& file, const std::vector<std::string>& set = {});

}  // namespace primal::tasks
