// primal play: episodes of a trained agent, as a page to look at.
#include "tasks/offline_rl/play.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/atomic_file.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

namespace {

struct Options {
  tasks::PlayRequest request;
  std::string run, output;
  bool json = false;
};

int run(Options& options) {
  options.request.run = options.run;
  const std::filesystem::path page =
      options.output.empty() ? options.request.run / "play.html" : std::filesystem::path(options.output);
  if (!options.output.empty()) check_page(page);
  const tasks::PlayResult result = tasks::play(options.request);
  base::write_file_atomically(page, tasks::page_of(result));
  if (options.json) {
    print_json(tasks::to_json(result));
  } else {
    print_text(tasks::to_text(result));
    print_text("page " + page.string() + "\n");
  }
  return 0;
}

}  // namespace

void add_play(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("play", "Let a trained agent play, and make a page of it");
  command->footer(
      "Examples:\n"
      "  primal play runs/hopper --output hopper.html\n"
      "  primal play runs/hopper --target 2000 --target 500 --episodes 20");
  auto options = std::make_shared<Options>();
  tasks::PlayRequest& request = options->request;
  command->add_option("RUN", options->run, "run directory of the model")->required();
  command->add_option("--target", request.targets,
                      "return to ask for; may be given several times; default: as the run was evaluated");
  command->add_option("--episodes", request.episodes, "of each target")->check(at_least(1))->capture_default_str();
  command->add_option("--seed", request.seed, "other starts for another; default 1");
  command->add_option("--set", request.set, "eval.KEY=VALUE, as eval.context=episode; may be given several times");
  command->add_option("--output", options->output, "HTML file; default RUN/play.html");
  command->add_option("--threads", request.threads, "default: as the run")->check(at_least(0));
  command->add_flag("--json", options->json, "returns and steps as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
