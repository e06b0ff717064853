// What the commands that train variants of a preset have in common: sweep and ablate.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/checks.h"
#include "cli/output.h"

namespace primal::cli {

/// Flags that are short names of keys, or about the command's own form.
struct PointOptions {
  std::string folder, protocol, train_file, test_file;
  int64_t seed = -1, threads = -1;
  bool json = false;
};

/// `request`: preset, set, seeds, jobs, data. `options` and `request` must stay where they are.
template <typename Request>
void add_point_options(CLI::App& command, Request& request, PointOptions& options) {
  command.add_option("PRESET", request.preset, "FAMILY/NAME, or a .toml file")->required();
  command.add_option("--set", request.set, "KEY=VALUE for all; may be given often")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--jobs", request.jobs, "runs at the same time; they share the threads")->check(at_least(1));
  command.add_option("--seed", options.seed, "the first of them")->check(at_least(0));
  command.add_option("--threads", options.threads, "of all runs together; default: one per core")->check(at_least(0));
  command.add_option("--train", options.train_file,
                     "own training file (series: .ts or CSV) instead of the preset's set");
  command.add_option("--test", options.test_file, "own test file; without: a fifth of --train");
  command.add_option("--data", request.data, "folder to look for data sets first");
  command.add_flag("--json", options.json, "the table as JSON");
}

template <typename Request>
Request with_options(Request request, const PointOptions& options) {
  request.folder = options.folder;
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) request.set.push_back(std::string(key) + "=" + value);
  };
  set("run.protocol", options.protocol);
  set("data.train", options.train_file);
  set("data.test", options.test_file);
  if (options.seed >= 0) set("train.seed", std::to_string(options.seed));
  if (options.threads >= 0) set("run.threads", std::to_string(options.threads));
  return request;
}

/// Prints the results, and gives the exit code. `summary`: interrupted, failed, folder.
template <typename Summary>
int finish_points(const Summary& summary, const nlohmann::json& json, const std::string& table, const char* page,
                  bool as_json) {
  if (as_json) {
    print_json(json);
  } else {
    print_text(table);
    print_text("report " + (summary.folder / page).string() + "\n");
  }
  if (summary.interrupted) {
    std::fprintf(stderr, "interrupted; the same command goes on where it stopped\n");
    return 130;
  }
  return summary.failed > 0 ? 1 : 0;
}

}  // namespace primal::cli
