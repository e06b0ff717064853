// primal report: runs as a page to look at.
#include "tasks/report.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

void add_report(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("report", "Write one HTML file about a run, or a comparison of several");
  command->footer("Examples:\n  primal report runs/mine\n  primal report runs/a runs/b --output comparison.html");
  auto runs = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  command->add_option("RUN", *runs, "run directories; one of several seeds counts as all of them")->required();
  command->add_option("--output", *output, "default: RUN/report.html of the first");
  command->callback([&chosen, runs, output] {
    chosen = [runs, output] {
      print_text(tasks::write_report({runs->begin(), runs->end()}, *output).string() + "\n");
      return 0;
    };
  });
}

}  // namespace primal::cli
