// primal data: which sets there are, and what is in them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "primal/error.h"
#include "tasks/family.h"
#include "tasks/locations.h"

namespace primal::cli {

namespace {

int list(const std::string& data, bool json) {
  const data::SearchPath path = tasks::data_search_path(data);
  nlohmann::json sets = nlohmann::json::array();
  for (const tasks::Family& family : tasks::families()) {
    if (!family.data_sets) continue;
    for (const tasks::DataSet& set : family.data_sets(path)) {
      sets.push_back({{"name", set.name}, {"family", family.name}, {"place", set.place.string()}});
      if (!json) print_text(base::padded(set.name, 24) + " " + set.place.string() + "\n");
    }
  }
  if (json) print_json(sets);
  if (!sets.empty()) return 0;
  std::fprintf(stderr, "no data sets; looked in:\n");
  for (const auto& folder : path.directories) std::fprintf(stderr, "  %s\n", folder.string().c_str());
  return 1;
}

tasks::DataInfo info_of(const std::string& name, const data::SearchPath& path) {
  // The first family takes any file for its own: the others, which know theirs, come before it.
  for (const tasks::Family& family : tasks::families() | std::views::reverse) {
    if (!family.data_info) continue;
    if (auto info = family.data_info(name, path)) return *std::move(info);
  }
  std::vector<std::string> known, folders;
  for (const tasks::Family& family : tasks::families()) {
    if (!family.data_sets) continue;
    for (const tasks::DataSet& set : family.data_sets(path)) known.push_back(set.name);
  }
  for (const auto& folder : path.directories) {
    folders.push_back(folder.string() + (std::filesystem::is_directory(folder) ? "" : " (not there)"));
  }
  const auto meant = base::nearest(std::filesystem::path(name).filename().string(), known);
  throw Error("data set " + base::in_quotes(name) + ": there is none of this name" +
              (meant ? "; did you mean " + *meant + "?" : "") + " (looked in " + base::joined(folders, ", ") +
              "); put it into data/ or set PRIMAL_DATA to the directory that has it; primal data list shows all");
}

int info(const std::string& name, const std::string& data, bool json) {
  const tasks::DataInfo info = info_of(name, tasks::data_search_path(data));
  if (json) {
    print_json(info.json);
  } else {
    print_text(info.text);
  }
  return 0;
}

struct Options {
  std::string data, name;
  bool json = false;
};

}  // namespace

void add_data(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("data", "Data sets: list them, show what is in one, or make one");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  primal data list\n  primal data info JapaneseVowels\n  primal data info mine.csv\n  primal data "
      "make lra/listops");
  auto options = std::make_shared<Options>();
  command->add_option("--data", options->data, "folder to look in first");
  command->add_flag("--json", options->json, "as JSON");
  command->add_subcommand("list", "the sets on the search path: --data, PRIMAL_DATA, data/, the aeon wheel")
      ->fallthrough()
      ->callback([&chosen, options] { chosen = [options] { return list(options->data, options->json); }; });
  CLI::App* about = command->add_subcommand("info", "cases, channels, lengths, classes and missing values");
  about->fallthrough();
  about->add_option("NAME", options->name, "a set, or a .ts or CSV file")->required();
  add_data_make(*command, chosen);
  about->callback(
      [&chosen, options] { chosen = [options] { return info(options->name, options->data, options->json); }; });
}

}  // namespace primal::cli
