// Time and memory of a training step of the Decision Transformer, or its time to play episodes, as a line of JSON.
// A process for each model; bench/layer_bench/decision_cases.py starts them and makes the tables.
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "base/allocator.h"
#include "decision_step/jobs.h"
#include "decision_step/rollouts.h"
#include "measure.h"
#include "program.h"
#include "train/compute_threads.h"

namespace {

using nlohmann::json;
namespace bench = primal::bench;

constexpr int64_t kShortSteps = 2;      // of the first calls, whose memory does not count
constexpr int64_t kRecordedSteps = 30;  // of episodes: longer than the windows that are compared

struct Arguments {
  bench::DecisionSizes sizes;
  bench::RolloutOptions rollouts;
  int64_t examples = 64, steps = 3;
  bool batches = false, play = false, whole_episode = false;
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
  count("--window", given.sizes.steps, "steps of an episode that the agent sees");
  app.add_option("--attention-dropout", given.sizes.attention_dropout, "of softmax weights")->check(CLI::Range(0., 1.));
  count("--examples", given.examples, "windows of a batch");
  count("--steps", given.steps, "that are timed; of --batches and --play: how often");
  count("--threads", given.rollouts.threads, "that compute");
  app.add_option("--outcome", given.outcome, "write parameters and what is computed with them into this file instead");
  app.add_flag("--batches", given.batches, "make batches instead of training with them");
  app.add_flag("--play", given.play, "play episodes instead");
  count("--episodes", given.rollouts.episodes, "that are played side by side");
  app.add_flag("--whole-episode", given.whole_episode, "the agent sees all of the episode");
}

json training(const Arguments& given) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const bench::Measured measured = bench::measure(
      [&](bool is_short) {
        bench::DecisionSizes sizes = given.sizes;
        if (is_short) sizes.steps = std::min(sizes.steps, kShortSteps);
        return bench::make_training_step(sizes);
      },
      {.examples = given.examples, .steps = given.steps, .step_seconds = kAny, .gigabytes = kAny});
  return {{"seconds", measured.seconds}, {"megabytes", measured.megabytes}};
}

json making_batches(const Arguments& given) {
  const auto job = bench::make_training_step(given.sizes);
  std::vector<double> seconds;
  for (int64_t i = 0; i < given.steps; ++i) {
    seconds.push_back(bench::seconds_of([&] { job->prepare(given.examples); }));
  }
  return {{"seconds", seconds}};
}

json playing(const Arguments& given) {
  primal::base::keep_freed_memory();  // as the program does
  bench::RolloutOptions options = given.rollouts;
  options.rounds = given.steps;
  if (given.whole_episode) options.context = primal::tasks::Context::episode;
  if (!given.outcome.empty()) {
    bench::save_rollouts(given.sizes, options, kRecordedSteps, given.outcome);
    return json::object();
  }
  const bench::RolloutSeconds seconds = bench::measure_rollouts(given.sizes, options);
  return {{"seconds", seconds.all}, {"environment_seconds", seconds.environment}};
}

json outcome(const Arguments& given) {
  bench::save_outcome(given.sizes, given.examples, given.outcome);
  return json::object();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Time and memory of a Decision Transformer.", "bench_decision_step");
  Arguments given;
  add_options(app, given);
  return bench::run_program(app, argc, argv, [&] {
    primal::train::set_up_compute_threads(given.rollouts.threads);
    torch::manual_seed(1);
    if (given.play) return playing(given);
    if (given.batches) return making_batches(given);
    return given.outcome.empty() ? training(given) : outcome(given);
  });
}
