// primal eval: how good a trained model is on labelled series, or on series with targets.
#include "tasks/time_series/eval.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/commands.h"
#include "base/format.h"

namespace primal::cli {

namespace {

struct Options {
  std::string run, file, data;
  int64_t threads = 0;
};

void print_targets(const train::Evaluation& evaluation) {
  const train::TargetErrors& errors = *evaluation.errors;
  std::printf(
      "R2            %10.4f\nRMSE          %10.5g\nMAE           %10.5g\nmedian error  %10.5g\nloss          %10.4f\n",
      evaluation.score, errors.root_mean_square, errors.mean, errors.median, evaluation.loss);
}

void print_classes(const tasks::EvalResult& result) {
  std::printf("accuracy  %6.2f %%\nmacro F1  %6.2f %%\nloss      %6.4f\n", 100 * result.evaluation.score,
              100 * train::macro_f1_of(result.evaluation.confusion), result.evaluation.loss);
  std::printf("\n%-16s %8s %8s %8s\n", "class", "cases", "recall", "precision");
  const train::Confusion& confusion = result.evaluation.confusion;
  for (size_t i = 0; i < confusion.size(); ++i) {
    int64_t truth = 0, predicted = 0;
    for (size_t j = 0; j < confusion.size(); ++j) truth += confusion[i][j], predicted += confusion[j][i];
    const auto share = [&](int64_t of) {
      return of > 0 ? 100.0 * static_cast<double>(confusion[i][i]) / static_cast<double>(of) : 0.0;
    };
    std::printf("%s %8ld %6.1f %% %6.1f %%\n", base::padded(result.classes[i], 16).c_str(), truth, share(truth),
                share(predicted));
  }
}

void print(const tasks::EvalResult& result) {
  std::printf("%s\n", result.what.c_str());
  result.evaluation.errors ? print_targets(result.evaluation) : print_classes(result);
}

}  // namespace

void add_eval(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("eval", "Evaluate a trained model on the TEST part of its set, or on a file");
  command->footer("Examples:\n  primal eval runs/mine\n  primal eval runs/mine --file labelled.csv");
  auto options = std::make_shared<Options>();
  command->add_option("RUN", options->run, "run directory of the model")->required();
  command->add_option("--file", options->file, "series with labels or targets, .ts or CSV, instead of TEST");
  command->add_option("--data", options->data, "folder to look for data sets first");
  command->add_option("--threads", options->threads, "default: as the run")->check(at_least(0));
  command->callback([&chosen, options] {
    chosen = [options] {
      print(tasks::evaluate_run(options->run, options->file, options->data, options->threads));
      return 0;
    };
  });
}

}  // namespace primal::cli
