// primal analyze: what the layers of trained runs make of some data.
#include "tasks/analyze.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace primal::cli {

namespace {

struct Options {
  tasks::AnalyzeRequest request;
  std::vector<std::string> runs;
  tasks::KsvdAnalysisRequest ksvd;
  bool with_ksvd = false;
  std::string output;
  int64_t matrices = 0;
  bool json = false;
};

int run(const CLI::App& command, Options& options) {
  options.request.runs.assign(options.runs.begin(), options.runs.end());
  if (options.with_ksvd) options.request.ksvd = options.ksvd;
  if (command.count("--matrices") > 0) options.request.matrices = options.matrices;
  if (!options.output.empty()) check_page(options.output);
  const std::vector<tasks::Analysis> analyses = tasks::analyze(options.request);
  if (options.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const tasks::Analysis& analysis : analyses) json.push_back(to_json(analysis));
    print_json(json);
  } else {
    for (size_t i = 0; i < analyses.size(); ++i) print_text((i > 0 ? "\n" : "") + to_text(analyses[i]));
  }
  if (options.output.empty()) return 0;
  write_page(analyses, options.output);
  if (!options.json) print_text("\npage: " + options.output + "\n");
  return 0;
}

}  // namespace

void add_analyze(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("analyze", "Spectra, ranks and findings of trained runs, as tables and as a page");
  command->footer(
      "Examples:\n  primal analyze runs/mine\n  primal analyze runs/a runs/b --part test\n"
      "  primal analyze runs/mine --file other.csv --json\n"
      "  primal analyze runs/softmax runs/primal --output spectra.html\n"
      "  primal analyze runs/mine --ksvd --twin runs/mine-without-eta");
  auto options = std::make_shared<Options>();
  tasks::AnalyzeRequest& request = options->request;
  command->add_option("RUN", options->runs, "run directories; one of several seeds counts as all of them")->required();
  command->add_option("--part", request.part, "of the run's own data")
      ->check(CLI::IsMember({"train", "validation", "test"}))
      ->capture_default_str();
  command->add_option("--file", request.file, "examples of this file instead");
  command->add_option("--examples", request.examples, "the first so many; default: 32, fewer of long ones")
      ->check(at_least(1));
  command
      ->add_option("--matrices", options->matrices,
                   "attention matrices of so many of the examples; default: 8, fewer of long ones")
      ->check(at_least(0));
  command
      ->add_option(
          "--longest", request.longest,
          "no attention matrix of more tokens: its cost is their cube, its memory 4 bytes times heads times their "
          "square")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--output", options->output, "a page with the pictures, PAGE.html");
  command->add_option("--data", request.data, "folder to look for data sets first");
  command->add_option("--threads", request.threads, "default: as the run")->check(at_least(0));
  CLI::Option* ksvd = command->add_flag("--ksvd", options->with_ksvd,
                                        "whether the layers hold a kernel SVD, beside untrained and random weights");
  command->add_option("--twin", options->ksvd.twin, "the same run with loss.eta = 0, to compare with")->needs(ksvd);
  command
      ->add_flag(
          "--intervene", options->ksvd.intervene,
          "also the score of the task with the best pairs of each sample (causal layers: of training examples) in "
          "place of a layer's scores")
      ->needs(ksvd);
  command->add_option("--null", options->ksvd.draws, "random weights to compare with")
      ->check(at_least(1))
      ->needs(ksvd)
      ->capture_default_str();
  command->add_flag("--json", options->json, "everything as JSON");
  command->callback([&chosen, command, options] { chosen = [command, options] { return run(*command, *options); }; });
}

}  // namespace primal::cli
