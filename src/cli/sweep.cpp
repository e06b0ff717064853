// primal sweep: a grid of options.
#include "tasks/sweep.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"

namespace primal::cli {

namespace {

constexpr int kFailed = 1, kInterrupted = 130;

int run(const tasks::SweepRequest& request) {
  const tasks::SweepSummary summary = tasks::sweep(request, [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    std::fflush(stderr);
  });
  std::fputs(report::sweep_table(summary.results).c_str(), stdout);
  std::printf("picture %s\n", (summary.folder / "sweep.html").string().c_str());
  if (summary.interrupted) {
    std::fprintf(stderr, "interrupted; the same command goes on where it stopped\n");
    return kInterrupted;
  }
  return summary.failed > 0 ? kFailed : 0;
}

}  // namespace

void add_sweep(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Train every combination of some options; ends with a table and a picture. Run again, it goes on where "
      "it stopped");
  auto request = std::make_shared<tasks::SweepRequest>();
  auto folder = std::make_shared<std::string>(), protocol = std::make_shared<std::string>();
  command->add_option("PRESET", request->preset, "FAMILY/NAME, or a .toml file")->required();
  command->add_option("--vary", request->vary, "KEY=VALUE,VALUE,...; may be given often")
      ->required()
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  command->add_option("--set", request->set, "KEY=VALUE for all; may be given often")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--protocol", *protocol, "honest: by validation accuracy, TEST is not touched; paper: by TEST")
      ->check(CLI::IsMember({"honest", "paper"}));
  command->add_option("--seeds", request->seeds, "runs of each combination")->check(CLI::PositiveNumber);
  command->add_option("--jobs", request->jobs, "runs at the same time; they share the threads")
      ->check(CLI::PositiveNumber);
  command->add_option("--run", *folder, "folder of the sweep; default sweeps/NAME");
  command->add_option("--data", request->data, "folder to look for data sets first");
  command->callback([&chosen, request, folder, protocol] {
    chosen = [request, folder, protocol] {
      request->folder = *folder;
      if (!protocol->empty()) request->set.push_back("run.protocol=" + *protocol);
      return run(*request);
    };
  });
}

}  // namespace primal::cli
