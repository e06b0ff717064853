// primal predict: the answers of a trained model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "primal/error.h"
#include "tasks/trained.h"

namespace primal::cli {

namespace {

struct Options {
  std::string run, input, output = "-";
  int64_t batch = 0, threads = 0;
};

std::vector<std::string> to_standard_output(tasks::Task& task, const tasks::PredictRequest& request) {
  return task.predict(request, [](std::string_view lines) {
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    flush_output();  // a reader at the other end of a pipe sees each answer at once
  });
}

// The file appears complete or not at all.
std::vector<std::string> to_file(tasks::Task& task, const tasks::PredictRequest& request, const std::string& output) {
  base::AtomicFile file(output);
  auto notes = task.predict(request, [&](std::string_view lines) { file.write(lines.data(), lines.size()); });
  file.commit();
  return notes;
}

void check_files(const Options& options) {
  std::error_code missing;
  if (options.input == "-" || options.output == "-") return;
  if (std::filesystem::equivalent(options.input, options.output, missing)) {
    throw Error("--output " + options.output + ": is the input itself, which would be lost");
  }
}

int run(const Options& options) {
  check_files(options);
  const tasks::Trained trained = tasks::open_trained(options.run, /*data=*/"", options.threads);
  const tasks::PredictRequest request{.input = options.input, .batch = options.batch};
  const std::vector<std::string> notes = options.output == "-" ? to_standard_output(*trained.task, request)
                                                               : to_file(*trained.task, request, options.output);
  for (const std::string& note : notes) std::fprintf(stderr, "primal predict: %s\n", note.c_str());
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
