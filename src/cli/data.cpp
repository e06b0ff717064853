// primal data: which sets there are, and what is in them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "data/series/locate.h"
#include "data/series/series_reader.h"
#include "data/series/summary.h"
#include "tasks/locations.h"
#include "base/format.h"

namespace primal::cli {

namespace {

int list(const std::string& data) {
  const data::SearchPath path = tasks::data_search_path(data);
  const auto found = data::list(path);
  for (const auto& set : found) {
    std::printf("%s %s\n", base::padded(set.name, 24).c_str(), set.directory.string().c_str());
  }
  if (!found.empty()) return 0;
  std::fprintf(stderr, "no data sets; looked in:\n");
  for (const auto& folder : path.directories) std::fprintf(stderr, "  %s\n", folder.string().c_str());
  return 1;
}

void print(const char* part, const data::Summary& summary) {
  std::printf("%s\n  cases     %ld\n  channels  %ld\n", part, summary.cases, summary.channels);
  std::printf("  lengths   %ld to %ld, mean %.1f\n", summary.shortest, summary.longest, summary.mean_length);
  std::printf("  missing   %ld values\n", summary.missing);
  if (summary.has_times) std::printf("  times     given for each step\n");
  if (summary.targets) std::printf("  targets   %g to %g\n", summary.targets->first, summary.targets->second);
  if (summary.classes.empty()) return;
  std::printf("  classes   %zu\n", summary.classes.size());
  for (const auto& [name, cases] : summary.classes) {
    std::printf("    %s %6ld  %5.1f %%\n", base::padded(name, 20).c_str(), cases,
                100.0 * static_cast<double>(cases) / static_cast<double>(summary.cases));
  }
}

bool is_file_name(const std::string& name) {
  return name == "-" || name.find('/') != std::string::npos || name.ends_with(".ts") || name.ends_with(".csv") ||
         std::filesystem::exists(name);
}

// NAME is a set of the search path, also in the form of a preset (uea/NAME), or a file.
int info(std::string name, const std::string& data) {
  constexpr std::string_view kFamily = "uea/";
  const bool is_preset = name.starts_with(kFamily) && !std::filesystem::exists(name) &&
                         name.find_first_of("/.", kFamily.size()) == std::string::npos;
  if (is_preset) name.erase(0, kFamily.size());
  if (!is_preset && is_file_name(name)) {
    print(name.c_str(), data::summarise(data::read_series(name, {.labels_optional = true})));
    return 0;
  }
  const data::Located found = data::locate(tasks::data_search_path(data), name);
  print(found.train.string().c_str(), data::summarise(data::read_series(found.train)));
  print(found.test.string().c_str(), data::summarise(data::read_series(found.test)));
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("data", "Data sets: list them, or show what is in one");
  command->require_subcommand(1);
  command->footer("Examples:\n  primal data list\n  primal data info JapaneseVowels\n  primal data info mine.csv");
  auto folder = std::make_shared<std::string>(), name = std::make_shared<std::string>();
  command->add_option("--data", *folder, "folder to look in first");
  command->add_subcommand("list", "the sets on the search path: --data, PRIMAL_DATA, data/, the aeon wheel")
      ->fallthrough()
      ->callback([&chosen, folder] { chosen = [folder] { return list(*folder); }; });
  CLI::App* about = command->add_subcommand("info", "cases, channels, lengths, classes and missing values");
  about->fallthrough();
  about->add_option("NAME", *name, "a set, or a .ts or CSV file")->required();
  about->callback([&chosen, name, folder] { chosen = [name, folder] { return info(*name, *folder); }; });
}

}  // namespace primal::cli
