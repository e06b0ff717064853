// Time and memory of a training step of the language model, or its time to write and to read text, as a line of JSON.
// A process for each model; bench/layer_bench/language_cases.py starts them and makes the tables.
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "base/allocator.h"
#include "language_step/generation.h"
#include "language_step/jobs.h"
#include "measure.h"
#include "program.h"
#include "train/compute_threads.h"

namespace {

using nlohmann::json;
namespace bench = primal::bench;

constexpr int64_t kShortTokens = 16;  // of the first calls, whose memory does not count

struct Arguments {
  bench::LanguageSizes sizes;
  bench::GenerationOptions generation;
  int64_t examples = 4, steps = 3, threads = 1;
  bool generate = false;
  std::string outcome;
};

void add_options(CLI::App& app, Arguments& given) {
  const auto count = [&](const char* name, int64_t& value, const char* about) {
    app.add_option(name, value, about)->check(CLI::PositiveNumber);
  };
  app.add_option("--layers", given.sizes.layers, "kinds of attention, comma separated")->delimiter(',')->required();
  count("--width", given.sizes.width, "of a token");
  count("--heads", given.sizes.heads, "of each layer");
  count("--feed-forward", given.sizes.feed_forward, "its inner width");
  count("--rank", given.sizes.rank, "of primal layers");
  count("--vocabulary", given.sizes.vocabulary, "different tokens");
  count("--block", given.sizes.block, "tokens of an example");
  count("--examples", given.examples, "of a batch");
  count("--steps", given.steps, "that are timed");
  count("--threads", given.threads, "that compute");
  app.add_option("--outcome", given.outcome, "write parameters, loss and gradients into this file instead");
  app.add_flag("--generate", given.generate, "write and read text instead");
  app.add_option("--positions", given.generation.positions, "tokens before those that are written, comma separated")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  count("--prompt", given.generation.prompt, "tokens that are read");
  count("--tokens", given.generation.tokens, "that are written for a figure");
}

json training(const Arguments& given) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const bench::Measured measured = bench::measure(
      [&](bool is_short) {
        bench::LanguageSizes sizes = given.sizes;
        if (is_short) sizes.block = std::min(sizes.block, kShortTokens);
        return bench::make_training_step(sizes);
      },
      {.examples = given.examples, .steps = given.steps, .step_seconds = kAny, .gigabytes = kAny});
  return {{"seconds", measured.seconds}, {"megabytes", measured.megabytes}};
}

json generation(const Arguments& given) {
  primal::base::keep_freed_memory();  // as the program does
  bench::GenerationOptions options = given.generation;
  options.rounds = given.steps;
  const bench::Generated made = bench::measure_generation(given.sizes, options);
  json written = json::array();
  for (const bench::WrittenTokens& tokens : made.written) {
    written.push_back(
        {{"position", tokens.position}, {"seconds", tokens.seconds}, {"state_bytes", tokens.state_bytes}});
  }
  return {{"written", written}, {"prompt_seconds", made.prompt_seconds}, {"forward_seconds", made.forward_seconds}};
}

json outcome(const Arguments& given) {
  bench::save_outcome(given.sizes, given.examples, given.outcome);
  return json::object();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Time and memory of a language model.", "bench_language_step");
  Arguments given;
  add_options(app, given);
  return bench::run_program(app, argc, argv, [&] {
    primal::train::set_up_compute_threads(given.threads);
    torch::manual_seed(1);
    if (!given.outcome.empty()) return outcome(given);
    return given.generate ? generation(given) : training(given);
  });
}
