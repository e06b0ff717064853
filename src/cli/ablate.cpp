// primal ablate: what each part of the method is worth.
#include "tasks/ablate.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/point_options.h"
#include "tasks/ablation_variants.h"

namespace primal::cli {

namespace {

struct Options : PointOptions {
  tasks::AblateRequest request;
};

int run(const Options& options) {
  base::Progress progress(base::progress_options());
  const tasks::AblateSummary summary = tasks::ablate(with_options(options.request, options), progress);
  return finish_points(summary, report::to_json(summary.results), report::ablation_table(summary.results),
                       "ablation.html", options.json);
}

}  // namespace

void add_ablate(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "ablate",
      "Train a preset and its variants that lack one part of the method each, or have another in its place; ends with "
      "a table and a page of the differences. Run again, it goes on where it stopped");
  command->footer(
      "Examples:\n"
      "  primal ablate uea/JapaneseVowels --seeds 5 --jobs 2\n"
      "  primal ablate uea/JapaneseVowels --only eta-0,right,softmax\n"
      "Variants (some presets lack some of them; the table says why):\n" +
      tasks::ablation_list());
  auto options = std::make_shared<Options>();
  tasks::AblateRequest& request = options->request;
  add_point_options(*command, request, *options);
  command->add_option("--only", request.only, "these variants; the preset itself is always trained")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->allow_extra_args(false);
  command
      ->add_option("--protocol", options->protocol,
                   "honest: weights chosen on a validation part; paper: as published, by TEST")
      ->check(CLI::IsMember({"honest", "paper"}));
  command->add_option("--seeds", request.seeds, "runs of each variant; default 3")->check(at_least(1));
  command->add_option("--run", options->folder, "folder of all runs; default ablations/NAME");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
