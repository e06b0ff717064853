// primal generate: text from a trained language model, token by token.
#include "tasks/language/generate.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/interrupt.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "primal/error.h"

namespace primal::cli {

namespace {

struct Options {
  tasks::GenerateRequest request;
  std::string run, prompt_file, load_state, save_state;
  bool json = false, echo = false;
};

std::string all_of(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }

void read_prompt(Options& options) {
  if (options.prompt_file.empty()) return;
  tasks::GenerateRequest& request = options.request;
  if (options.prompt_file == "-") {
    request.prompt_name = "standard input";
    request.prompt = all_of(std::cin);
  } else {
    std::ifstream file(options.prompt_file, std::ios::binary);
    if (!file) throw Error(options.prompt_file + ": cannot be read");
    request.prompt_name = options.prompt_file;
    request.prompt = all_of(file);
  }
  if (request.prompt.empty()) throw Error(request.prompt_name + ": expected text, got an empty file");
}

inference::MoreText print_as_written(const base::InterruptGuard& guard, bool prints) {
  return [&guard, prints](size_t /*sample*/, std::string_view text) {
    if (prints) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      flush_output();
    }
    return !guard.interrupted();
  };
}

void print_samples(const tasks::GenerateResult& result) {
  for (size_t i = 0; i < result.texts.size(); ++i) {
    print_text("--- sample " + std::to_string(i + 1) + "\n" + result.texts[i] + "\n");
  }
}

int run(Options& options) {
  read_prompt(options);
  tasks::GenerateRequest& request = options.request;
  request.run = options.run;
  if (!options.load_state.empty()) request.load_state = options.load_state;
  if (!options.save_state.empty()) request.save_state = options.save_state;
  const base::InterruptGuard guard;
  const bool streams = request.samples == 1 && !options.json;
  request.more = print_as_written(guard, streams);
  if (streams && options.echo) print_text(request.prompt);
  const tasks::GenerateResult result = tasks::generate(request);
  if (options.json) {
    print_json({{"texts", result.texts},
                {"prompt_tokens", result.prompt_tokens},
                {"prompt_seconds", result.prompt_seconds},
                {"tokens", result.tokens},
                {"seconds", result.seconds},
                {"state_bytes", result.state_bytes}});
  } else if (streams) {
    print_text("\n");
  } else {
    print_samples(result);
  }
  std::fprintf(stderr, "primal generate: %s\n", tasks::summary_of(result).c_str());
  if (result.unsaved) std::rethrow_exception(result.unsaved);
  return guard.interrupted() ? 128 + guard.signal() : 0;
}

void add_sampling_options(CLI::App& command, tasks::GenerateRequest& request) {
  tasks::SamplingChoice& sampling = request.sampling;
  command.add_option("--temperature", sampling.temperature, "0 = always the likeliest token; default 1");
  command.add_option("--top-k", sampling.top_k, "only the k likeliest; default 0 = all");
  command.add_option("--top-p", sampling.top_p, "only the likeliest that together have this share; default 1");
  command.add_option("--repetition", sampling.repetition,
                     "above 1: tokens among the last 256 become less likely; default 1");
  command.add_option("--seed", sampling.seed, "the same seed writes the same text; default 1");
}

}  // namespace

void add_generate(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("generate", "Write text with a trained language model, token by token");
  command->footer(
      "Examples:\n"
      "  primal generate runs/text --prompt \"def forward(\" --tokens 300\n"
      "  primal generate runs/text --prompt-file chapter.txt --save-state chapter.state\n"
      "  primal generate runs/text --load-state chapter.state --tokens 1000");
  auto options = std::make_shared<Options>();
  tasks::GenerateRequest& request = options->request;
  command->add_option("RUN", options->run, "run directory of the model")->required();
  auto* prompt = command->add_option("--prompt", request.prompt, "text to go on from");
  command->add_option("--prompt-file", options->prompt_file, "the same from a file of any length; - = standard input")
      ->excludes(prompt);
  command->add_option("--tokens", request.writing.tokens, "at most so many are written")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--samples", request.samples, "so many texts side by side")
      ->check(at_least(1))
      ->capture_default_str();
  add_sampling_options(*command, request);
  command->add_option("--stop", request.writing.stops, "text that ends a sample; may be given several times");
  command->add_flag("--unknown-words", request.unknown_words,
                    "words of the prompt outside the vocabulary are no error");
  command->add_flag("--echo", options->echo, "print the prompt before what is written");
  command->add_option(
      "--load-state", options->load_state,
      "go on where --save-state stopped, bit for bit; options of the sampling that are not given are those of then");
  command->add_option("--save-state", options->save_state, "safetensors file to go on from later");
  command->add_option("--threads", request.threads, "default: as the run")->check(at_least(0));
  command->add_flag("--json", options->json, "texts and timing as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace primal::cli
