#include "tasks/resolve.h"

#include "base/settings.h"
#include "base/text.h"
#include "primal/error.h"
#include "tasks/locations.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

void set_all(base::Settings& settings, const std::vector<std::string>& assignments) {
  for (const std::string& text : assignments) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set " + text + ": expected key=value");
    settings.set(text.substr(0, equals), text.substr(equals + 1), "--set");
  }
}

std::optional<StandIn> stand_in_for(const ConfigRequest& request) {
  if (is_preset(request.preset)) return std::nullopt;
  const data::SearchPath search = data_search_path(request.data);
  for (const Family& family : families()) {
    if (!family.stand_in) continue;
    if (auto stand_in = family.stand_in(request.preset, search)) return stand_in;
  }
  return std::nullopt;
}

const Family& family_of(const fs::path& file) {
  const auto name = base::Settings::peek(file, "run.family");
  return name && !name->empty() ? family(*name, file.string() + ": run.family") : families().front();
}

// A family is chosen by the file: a flag comes too late.
void check_family(const Resolved& resolved) {
  if (resolved.config->run.family.empty()) resolved.config->run.family = resolved.family->name;
  if (resolved.config->run.family == resolved.family->name) return;
  throw Error("run.family: expected " + std::string(resolved.family->name) + " as the preset says, got " +
              resolved.config->run.family);
}

// The settings refer to the configuration.
Resolved begin(const fs::path& file, base::Settings& settings) {
  Resolved resolved{.family = &family_of(file), .config = nullptr};
  resolved.config = resolved.family->config();
  resolved.config->run.family = resolved.family->name;
  resolved.config->add_settings(settings);
  settings.read_file(file);
  return resolved;
}

Resolved resolve(const ConfigRequest& request, base::Settings& settings) {
  const auto other = stand_in_for(request);
  Resolved resolved = begin(preset_file(other ? other->preset : request.preset), settings);
  const auto say_what_was_asked_for = [&] {
    if (other) set_all(settings, other->set);
    settings.read_environment();
    settings.set("run.preset", request.preset, "preset");
    set_all(settings, request.set);
  };
  const bool honest_preset = resolved.config->run.protocol == Protocol::honest;
  say_what_was_asked_for();
  if (honest_preset && resolved.config->run.protocol == Protocol::paper) {
    // What only the honest protocol has is the preset's choice for that one; who asks for it besides is told.
    resolved.config->run.refit = false;
    resolved.config->train.keep = resolved.config->published_keep();
    say_what_was_asked_for();
  }
  check_family(resolved);
  for (const std::string& text : request.set) resolved.config->asked_for.push_back(text.substr(0, text.find('=')));
  return resolved;
}

void make_absolute(const std::string& key, std::string& path) {
  if (path.empty()) return;
  path = fs::absolute(path).lexically_normal().string();
  if (base::is_utf8(path)) return;
  throw Error(key + ": expected a path in UTF-8, which config.toml can hold, got " + base::in_quotes(path));
}

void make_absolute(const Resolved& resolved) {
  for (const OwnFile& file : resolved.config->own_files()) make_absolute(file.key, *file.name);
  make_absolute("train.start_from", resolved.config->train.start_from);
}

}  // namespace

Resolved resolve_config(const ConfigRequest& request) {
  base::Settings settings;
  Resolved resolved = resolve(request, settings);
  make_absolute(resolved);
  resolved.config->check();
  return resolved;
}

std::string list_keys(const ConfigRequest& request) {
  base::Settings settings;
  const Resolved resolved = resolve(request, settings);
  return settings.listing();
}

Resolved read_config(const fs::path& file, const std::vector<std::string>& set) {
  base::Settings settings;
  // An empty file would be a configuration of defaults alone.
  if (!base::Settings::peek(file, "run.protocol")) {
    throw Error(file.string() + ": is not the configuration of a run, or damaged: run.protocol is missing");
  }
  Resolved resolved = begin(file, settings);
  set_all(settings, set);
  check_family(resolved);
  make_absolute(resolved);
  for (const std::string& text : set) settings.check(text.substr(0, text.find('=')));
  resolved.config->check_combinations();
  return resolved;
}

}  // namespace primal::tasks
