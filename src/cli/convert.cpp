// primal convert: layers of a trained run made primal.
#include "tasks/convert.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "base/progress.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

namespace {

constexpr int kInterrupted = 130;

struct Options {
  tasks::ConvertRequest request;
  std::string folder;
  bool no_tune = false, json = false;
};

int run(Options& options) {
  options.request.tune = !options.no_tune;
  if (!options.folder.empty()) options.request.folder = options.folder;
  base::Progress progress(base::progress_options());
  const tasks::ConvertSummary summary = tasks::convert(options.request, progress);
  if (options.json) {
    print_json(to_json(summary.conversion));
  } else {
    print_text(to_text(summary.conversion));
    print_text("run directory " + summary.folder.string() + "\n");
  }
  if (!summary.interrupted) return 0;
  std::fprintf(stderr, "interrupted; the same command goes on where it stopped\n");
  return kInterrupted;
}

}  // namespace

void add_convert(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "convert",
      "Replace layers of a trained run by primal ones that first learn what the old ones did, and train on. Run again, "
      "it goes on where it stopped");
  command->footer(
      "Examples:\n"
      "  primal convert runs/transformer\n"
      "  primal convert runs/transformer --layers all --set model.rank=20 --length \"20 epochs\"\n"
      "  primal convert runs/transformer --layers 1,2 --no-tune --run runs/converted");
  auto options = std::make_shared<Options>();
  tasks::ConvertRequest& request = options->request;
  command->add_option("RUN", request.run, "run directory of the model")->required();
  command->add_option("--layers", request.layers, "last, all that are not primal, or numbers from below: 1,3")
      ->capture_default_str();
  command->add_option("--set", request.set, "KEY=VALUE for the new run, e.g. model.rank=20; may be given often")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--run", options->folder, "folder of the new run; default RUN-converted");
  command->add_option("--length", request.length,
                      "of the training that follows, \"10 epochs\" or \"500 steps\"; default: a tenth of the run's");
  command->add_flag("--no-tune", options->no_tune, "no training after the conversion");
  command->add_flag("--scratch", request.scratch,
                    "also train the new model from scratch, as long as the run was (without: as long as --length)");
  command
      ->add_option("--examples", request.examples,
                   "training examples that the layers learn from, spread over all; default: 2048, fewer of long ones")
      ->check(at_least(1));
  command->add_option("--steps", request.steps, "of gradient descent for each layer, before the training")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--data", request.data, "folder to look for data sets first");
  command->add_option("--threads", request.threads, "default: as the run")->check(at_least(0));
  command->add_flag("--json", options->json, "the result as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
