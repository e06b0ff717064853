#include "tasks/time_series/trained_model.h"

#include "primal/error.h"
#include "tasks/time_series/run.h"
#include "train/checkpoint.h"
#include "train/compute_threads.h"

namespace primal::tasks {

TrainedModel load_trained_model(const std::filesystem::path& run, int64_t threads) {
  if (std::filesystem::exists(run / kSeedsFile)) {
    throw Error(run.string() + ": holds the runs of several seeds; name one of them, " + seed_folder(1) + " or so");
  }
  if (!std::filesystem::exists(run / "config.toml")) {
    throw Error(run.string() + ": no run here (config.toml is missing)");
  }
  TrainedModel trained{.config = read_config(run), .facts = {}};
  if (!std::filesystem::exists(run / "best")) throw Error(run.string() + ": no model yet (best/ is missing)");
  if (threads > 0) trained.config.run.threads = threads;
  train::set_up_compute_threads(threads_of(trained.config));
  trained.facts = read_series_facts(run / "data.json");
  const SeriesFacts& facts = trained.facts;
  trained.model =
      models::SequenceClassifier(model_options(trained.config, facts.channels, facts.outputs(), facts.tokens));
  train::load_tensors(*trained.model, train::load_checkpoint(run / "best").model,
                      (run / "best" / "model.safetensors").string());
  trained.model->eval();
  return trained;
}

}  // namespace primal::tasks
