// primal train: a model from a preset.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/exception.h"
#include "base/text.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "primal/error.h"
#include "tasks/locations.h"
#include "tasks/report.h"
#include "tasks/training.h"

namespace primal::cli {

namespace {

constexpr int kInterrupted = 130;

struct Options {
  tasks::TrainRequest request;
  std::string preset, protocol, run, resume, train_file, test_file;
  int64_t seed = -1, threads = -1;
  bool list_keys = false, list_presets = false, no_report = false;
};

// A flag is a short name of a key; given last, it wins.
void apply_flags(Options& options) {
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) options.request.config.set.push_back(std::string(key) + "=" + value);
  };
  if (!options.preset.empty()) {
    options.request.config.preset = options.preset;
  } else if (!options.train_file.empty()) {
    options.request.config.preset = tasks::own_files_preset();
  }
  set("run.protocol", options.protocol);
  set("data.train", options.train_file);
  set("data.test", options.test_file);
  if (options.seed >= 0) set("train.seed", std::to_string(options.seed));
  if (options.threads >= 0) set("run.threads", std::to_string(options.threads));
  if (!options.run.empty()) options.request.run = options.run;
}

void print_presets() {
  for (const std::string& name : tasks::preset_names()) std::printf("%s\n", name.c_str());
}

// A page that cannot be written does not spoil a run that is done.
void write_page(const std::filesystem::path& folder) {
  try {
    print_text("report " + tasks::write_report({folder}).string() + "\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "primal train: no report: %s\n", base::in_one_line(error).c_str());
  }
}

int report(const tasks::TrainSummary& summary, const Options& options) {
  print_text(tasks::describe(summary));
  const std::string folder = summary.folder.string(), &data = options.request.config.data;
  if (summary.interrupted) {
    std::fprintf(stderr, "interrupted; go on with: primal train --resume %s%s\n", base::shell_word(folder).c_str(),
                 data.empty() ? "" : (" --data " + base::shell_word(data)).c_str());
    return kInterrupted;
  }
  print_text("run directory " + folder + "\n");
  if (!options.no_report) write_page(summary.folder);
  return 0;
}

int run(Options& options) {
  apply_flags(options);
  if (options.list_presets) return print_presets(), 0;
  if (options.list_keys) return std::fputs(tasks::list_keys(options.request.config).c_str(), stdout), 0;
  if (!options.resume.empty() && (!options.preset.empty() || !options.run.empty() || options.request.seeds != 1)) {
    throw Error("--resume " + options.resume + ": PRESET, --run and --seeds belong to a new run");
  }
  base::Progress progress(base::progress_options());
  return report(options.resume.empty() ? tasks::train_new(options.request, progress)
                                       : tasks::train_resumed(options.resume, options.request, progress),
                options);
}

}  // namespace

void add_train(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("train",
                                         "Train a model from a preset; without arguments: PrimalFormer on "
                                         "JapaneseVowels, a few minutes on two cores");
  command->footer(
      "Examples:\n"
      "  primal train\n"
      "  primal train uea/JapaneseVowels-tuned --seeds 3\n"
      "  primal train uea/JapaneseVowels --set model.rank=20 --set \"train.length=50 epochs\"\n"
      "  primal train --train mine.csv --test later.csv --run runs/mine\n"
      "  primal train --resume runs/mine");
  auto options = std::make_shared<Options>();
  command->add_option("PRESET", options->preset,
                      "FAMILY/NAME, or a .toml file; default uea/JapaneseVowels, with --train "
                      "series/default");
  command->add_option("--set", options->request.config.set, "KEY=VALUE, e.g. model.rank=20; may be given often")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--protocol", options->protocol,
                   "honest: the weights are chosen on held-out training data, TEST is touched once; "
                   "paper: best TEST score, as published")
      ->check(CLI::IsMember({"honest", "paper"}));
  command->add_option("--seed", options->seed, "of initialisation, order and split")->check(at_least(0));
  command->add_option("--seeds", options->request.seeds, "so many runs with seeds from --seed on; mean and deviation")
      ->check(at_least(1));
  command->add_option("--train", options->train_file,
                      "own training file (series: .ts or CSV) instead of the preset's set");
  command->add_option("--test", options->test_file, "own test file; without: a fifth of --train");
  command->add_option("--data", options->request.config.data, "folder to look for data sets first");
  command->add_option("--run", options->run, "run directory; default runs/NAME-PROTOCOL-DATE");
  command->add_option("--resume", options->resume, "go on with this run directory");
  command->add_option("--threads", options->threads, "default: one per core")->check(at_least(0));
  command->add_flag("--no-report", options->no_report, "write no report.html at the end");
  command->add_flag("--keys", options->list_keys, "list every key of --set with its value, and stop");
  command->add_flag("--presets", options->list_presets, "list the presets, and stop");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
