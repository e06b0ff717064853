#include "tasks/trained.h"

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

}  // namespace

Trained open_trained(const fs::path& run, const std::string& data, int64_t threads,
                     const std::vector<std::string>& set) {
  check_is_evaluation(set);
  if (holds_seeds(run)) {
    throw Error(run.string() + ": holds the runs of several seeds; name one of them, " + seed_folder(1) + " or so");
  }
  if (!fs::exists(run / "config.toml")) throw Error(run.string() + ": no run here (config.toml is missing)");
  Trained trained{.resolved = read_config(run / "config.toml", set), .task = nullptr};
  if (!fs::exists(run / "best")) throw Error(run.string() + ": no model yet (best/ is missing)");
  Config& config = *trained.resolved.config;
  if (threads > 0) config.run.threads = threads;
  train::set_up_compute_threads(threads_of(config.run));
  trained.task =
      trained.resolved.family->open(config, {.search = data_search_path(data),
                                             .hold_out = config.run.protocol == Protocol::honest && !config.run.refit,
                                             .facts = run / "data.json"});
  models::load_tensors(trained.task->model(), train::load_checkpoint(run / "best").model,
                       (run / "best" / "model.safetensors").string());
  trained.task->model().eval();
  return trained;
}

}  // namespace primal::tasks
