// primal sweep: a grid of options.
#include "tasks/sweep.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/point_options.h"

namespace primal::cli {

namespace {

struct Options : PointOptions {
  tasks::SweepRequest request;
};

int run(const Options& options) {
  base::Progress progress(base::progress_options());
  const tasks::SweepSummary summary = tasks::sweep(with_options(options.request, options), progress);
  return finish_points(summary, tasks::to_json(summary.results), report::sweep_table(summary.results), "sweep.html",
                       options.json);
}

}  // namespace

void add_sweep(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Train every combination of some options; ends with a table and a picture. Run again, it goes on where "
      "it stopped");
  command->footer(
      "Examples:\n"
      "  primal sweep uea/JapaneseVowels --vary model.rank=20,30,40 --vary loss.eta=0,0.1,0.5\n"
      "  primal sweep series/default --train mine.csv --vary model.rank=8,16 --seeds 3 --jobs 2\n"
      "The keys are listed by: primal train --keys");
  auto options = std::make_shared<Options>();
  tasks::SweepRequest& request = options->request;
  add_point_options(*command, request, *options);
  command->add_option("--vary", request.vary, "KEY=VALUE,VALUE,...; may be given often")
      ->required()
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  command
      ->add_option("--protocol", options->protocol,
                   "honest: by the validation part, TEST is not touched; paper: by TEST")
      ->check(CLI::IsMember({"honest", "paper"}));
  command->add_option("--seeds", request.seeds, "runs of each combination")->check(at_least(1));
  command->add_option("--run", options->folder, "folder of the sweep; default sweeps/NAME");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
