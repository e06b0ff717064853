// Time and memory of one kind of attention in the Long Range Arena model, as a line of JSON. A process for each kind,
// so that the memory of one does not hide that of another; bench/layer_bench/arena_cases.py starts them and makes the
// tables.
#include <ATen/Context.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "lra_step/jobs.h"
#include "measure.h"
#include "program.h"
#include "train/compute_threads.h"

namespace {

constexpr int64_t kShortTokens = 128;  // of the first calls, whose memory does not count

struct Arguments {
  primal::bench::JobOptions job;
  primal::bench::Limits limits;
  int64_t threads = 1;
  std::string softmax = "ours";
  bool layer = false;
};

void add_options(CLI::App& app, Arguments& given) {
  app.add_option("--layers", given.job.layers, "kinds of attention, comma separated")->delimiter(',')->required();
  app.add_option("--tokens", given.job.tokens, "of each sequence")->required()->check(CLI::PositiveNumber);
  app.add_option("--rank", given.job.rank, "of primal layers")->check(CLI::PositiveNumber);
  app.add_option("--accumulate", given.job.accumulate, "batches of a step")->check(CLI::PositiveNumber);
  app.add_flag("--pairs", given.job.pairs, "an example is two sequences");
  app.add_option("--examples", given.limits.examples, "of a batch, at most")->check(CLI::PositiveNumber);
  app.add_option("--steps", given.limits.steps, "that are timed")->check(CLI::PositiveNumber);
  app.add_option("--step-seconds", given.limits.step_seconds, "a longer step has fewer examples");
  app.add_option("--gigabytes", given.limits.gigabytes, "a larger step has fewer examples");
  app.add_option("--threads", given.threads);
  app.add_option("--softmax", given.softmax,
                 "how softmax attention is computed; explicit: with the matrix of its weights")
      ->check(CLI::IsMember({"ours", "sdpa", "explicit"}));
  app.add_flag("--layer", given.layer, "forward and backward of one encoder layer instead of a training step");
}

primal::bench::Measured measure(const Arguments& given) {
  if (given.softmax == "ours") {
    unsetenv("PRIMAL_FUSED");
  } else {
    setenv("PRIMAL_FUSED", "0", /*replace=*/1);  // LibTorch's
  }
  // Else that goes by blocks on the CPU, too, and no N x N matrix is ever there.
  if (given.softmax == "explicit") at::globalContext().setSDPUseFlash(false);
  primal::train::set_up_compute_threads(given.threads);
  torch::manual_seed(1);
  return primal::bench::measure(
      [&](bool is_short) {
        primal::bench::JobOptions options = given.job;
        if (is_short) options.tokens = std::min(options.tokens, kShortTokens);
        return given.layer ? primal::bench::make_encoder_layer(options) : primal::bench::make_training_step(options);
      },
      given.limits);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Time and memory of a kind of attention in the Long Range Arena model.", "bench_lra_step");
  Arguments given;
  add_options(app, given);
  return primal::bench::run_program(app, argc, argv, [&] {
    const primal::bench::Measured measured = measure(given);
    return nlohmann::json{
        {"examples", measured.examples}, {"seconds", measured.seconds}, {"megabytes", measured.megabytes}};
  });
}
