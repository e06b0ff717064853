// primal eval: how good a trained model is on TEST, or on a file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "tasks/evaluate.h"

namespace primal::cli {

namespace {

struct Options {
  std::string run, file, data;
  std::vector<std::string> set;
  int64_t threads = 0;
  bool json = false;
};

int run(const Options& options) {
  const tasks::EvalResult result =
      tasks::evaluate_run(options.run, options.file, options.data, options.threads, options.set);
  if (options.json) {
    print_json(to_json(result));
  } else {
    print_text(to_text(result));
  }
  for (const std::string& note : result.notes) print_text("primal eval: note: " + note + "\n", stderr);
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("eval", "Evaluate a trained model on the TEST part of its set, or on a file");
  command->footer(
      "Examples:\n  primal eval runs/mine\n  primal eval runs/mine --file labelled.csv\n  primal eval runs/hopper "
      "--episodes 100");
  auto options = std::make_shared<Options>();
  const auto take_episodes = [options](const std::string& count) { options->set.push_back("eval.episodes=" + count); };
  command->add_option("RUN", options->run, "run directory of the model")->required();
  command->add_option("--file", options->file, "examples with their answers (series: .ts or CSV) instead of TEST");
  command->add_option("--data", options->data, "folder to look for data sets first");
  command->add_option("--set", options->set, "eval.KEY=VALUE, how it is evaluated; may be given several times");
  command->add_option_function<std::string>("--episodes", take_episodes, "of each target, of an agent that plays")
      ->check(at_least(1));
  command->add_option("--threads", options->threads, "default: as the run")->check(at_least(0));
  command->add_flag("--json", options->json, "the result as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
