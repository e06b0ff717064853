#include "tasks/trained.h"

#include <torch/utils.h>

#include "primal/error.h"
#include "tasks/locations.h"
#include "tasks/seeds.h"
#include "train/checkpoint.h"
#include "train/compute_threads.h"

namespace primal::tasks {

namespace fs = std::filesystem;

namespace {

// The model and its data are what they are.
void check_is_evaluation(const std::vector<std::string>& set) {
  for (const std::string& assignment : set) {
    if (assignment.starts_with("eval.")) continue;
    throw Error("--set " + assignment + ": of a trained model only eval.* may change");
  }
}

// With the first weights of the seed.
void open_task(Trained& trained, const fs::path& run, const std::string& data) {
  const Config& config = *trained.resolved.config;
  train::set_up_compute_threads(threads_of(config.run));
  // With data.json at hand a family reads nothing before it makes the model: these are the weights of before training.
  torch::manual_seed(static_cast<uint64_t>(config.train.seed));
  trained.task =
      trained.resolved.family->open(config, {.search = data_search_path(data),
                                             .hold_out = config.run.protocol == Protocol::honest && !config.run.refit,
                                             .facts = run / "data.json"});
  trained.task->model().eval();
}

// With the first weights of its seed.
Trained open_run(const fs::path& run, const std::string& data, int64_t threads, const std::vector<std::string>& set) {
  if (holds_seeds(run)) {
    throw Error(run.string() + ": holds the runs of several seeds; name one of them, " + seed_folder(1) + " or so");
  }
  if (!fs::exists(run / "config.toml")) throw Error(run.string() + ": no run here (config.toml is missing)");
  Trained trained{.resolved = read_config(run / "config.toml", set), .task = nullptr};
  if (!fs::exists(run / "best")) throw Error(run.string() + ": no model yet (best/ is missing)");
  if (threads > 0) trained.resolved.config->run.threads = threads;
  open_task(trained, run, data);
  return trained;
}

}  // namespace

Trained open_trained(const fs::path& run, const std::string& data, int64_t threads,
                     const std::vector<std::string>& set) {
  check_is_evaluation(set);
  Trained trained = open_run(run, data, threads, set);
  models::load_tensors(trained.task->model(), train::load_checkpoint(run / "best").model,
                       (run / "best" / "model.safetensors").string());
  return trained;
}

Trained open_changed(const fs::path& run, Resolved changed, const std::string& data) {
  Trained trained{.resolved = std::move(changed), .task = nullptr};
  open_task(trained, run, data);
  return trained;
}

Trained open_untrained(const fs::path& run, const std::string& data, int64_t threads) {
  return open_run(run, data, threads, {});
}

}  // namespace primal::tasks
