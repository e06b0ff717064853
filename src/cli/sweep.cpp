// primal sweep: a grid of options.
#include "tasks/sweep.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

namespace {

constexpr int kFailed = 1, kInterrupted = 130;

struct Options {
  tasks::SweepRequest request;
  std::string folder, protocol, train_file, test_file;
  int64_t seed = -1, threads = -1;
  bool json = false;
};

// A flag is a short name of a key.
tasks::SweepRequest request_of(const Options& options) {
  tasks::SweepRequest request = options.request;
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

int run(const tasks::SweepRequest& request, bool json) {
  const tasks::SweepSummary summary = tasks::sweep(request, [](const std::string& line) {
    print_text(line + "\n", stderr);
    std::fflush(stderr);
  });
  if (json) {
    print_json(tasks::to_json(summary.results));
  } else {
    print_text(report::sweep_table(summary.results));
    print_text("report " + (summary.folder / "sweep.html").string() + "\n");
  }
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
  command->footer(
      "Examples:\n"
      "  primal sweep uea/JapaneseVowels --vary model.rank=20,30,40 --vary loss.eta=0,0.1,0.5\n"
      "  primal sweep series/default --train mine.csv --vary model.rank=8,16 --seeds 3 --jobs 2\n"
      "The keys are listed by: primal train --keys");
  auto options = std::make_shared<Options>();
  tasks::SweepRequest& request = options->request;
  command->add_option("PRESET", request.preset, "FAMILY/NAME, or a .toml file")->required();
  command->add_option("--vary", request.vary, "KEY=VALUE,VALUE,...; may be given often")
      ->required()
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  command->add_option("--set", request.set, "KEY=VALUE for all; may be given often")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--protocol", options->protocol,
                   "honest: by the validation part, TEST is not touched; paper: by TEST")
      ->check(CLI::IsMember({"honest", "paper"}));
  command->add_option("--seeds", request.seeds, "runs of each combination")->check(at_least(1));
  command->add_option("--jobs", request.jobs, "runs at the same time; they share the threads")->check(at_least(1));
  command->add_option("--seed", options->seed, "the first of them")->check(at_least(0));
  command->add_option("--threads", options->threads, "of all runs together; default: one per core")->check(at_least(0));
  command->add_option("--train", options->train_file,
                      "own training file (series: .ts or CSV) instead of the preset's set");
  command->add_option("--test", options->test_file, "own test file; without: a fifth of --train");
  command->add_option("--run", options->folder, "folder of the sweep; default sweeps/NAME");
  command->add_option("--data", request.data, "folder to look for data sets first");
  command->add_flag("--json", options->json, "the table as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run(request_of(*options), options->json); }; });
}

}  // namespace primal::cli
