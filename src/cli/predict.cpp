// primal predict: classes or targets of new series.
#include "tasks/time_series/predict.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "base/atomic_file.h"
#include "primal/error.h"
#include "tasks/time_series/problem.h"

namespace primal::cli {

namespace {

struct Options {
  std::string run, input, output = "-";
  int64_t batch = 0, threads = 0;
};

tasks::PredictSummary to_standard_output(tasks::TrainedModel& trained, const Options& options) {
  return tasks::predict(trained, options.input, options.batch, [](std::string_view lines) {
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    flush_output();  // a reader at the other end of a pipe sees each answer at once
  });
}

// The file appears complete or not at all.
tasks::PredictSummary to_file(tasks::TrainedModel& trained, const Options& options) {
  base::AtomicFile file(options.output);
  const auto summary = tasks::predict(trained, options.input, options.batch,
                                      [&](std::string_view lines) { file.write(lines.data(), lines.size()); });
  file.commit();
  return summary;
}

void check_files(const Options& options) {
  std::error_code missing;
  if (options.input == "-" || options.output == "-") return;
  if (std::filesystem::equivalent(options.input, options.output, missing)) {
    throw Error("--output " + options.output + ": is the input itself, which would be lost");
  }
}

int run(Options options) {
  check_files(options);
  tasks::TrainedModel trained = tasks::load_trained_model(options.run, options.threads);
  if (options.batch == 0) options.batch = options.input == "-" ? 1 : tasks::evaluation_batch(trained.facts.tokens);
  const tasks::PredictSummary summary =
      options.output == "-" ? to_standard_output(trained, options) : to_file(trained, options);
  if (summary.cut > 0) {
    std::fprintf(stderr,
                 "primal predict: %ld of %ld series are longer than the longest training series (%ld steps): "
                 "only their beginning was looked at\n",
                 summary.cut, summary.series, trained.facts.tokens);
  }
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("predict", "Predict the classes or targets of series with a trained model");
  command->footer(
      "Examples:\n"
      "  primal predict runs/mine --input new.csv --output classes.csv\n"
      "  tail -f sensor.csv | primal predict runs/mine --input -");
  auto options = std::make_shared<Options>();
  command->add_option("RUN", options->run, "run directory of the model")->required();
  command->add_option("--input", options->input, ".ts or CSV, labels not needed; - = standard input")->required();
  command
      ->add_option("--output", options->output,
                   "CSV: series, predicted, probability of each class if there are classes; - = standard output")
      ->capture_default_str();
  command
      ->add_option("--batch", options->batch,
                   "series that go through the model together; default 1 from standard input")
      ->check(at_least(0));
  command->add_option("--threads", options->threads, "default: as the run")->check(at_least(0));
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
