#include "tasks/time_series/eval.h"

#include "data/series_reader.h"
#include "primal/error.h"
#include "tasks/locations.h"
#include "tasks/time_series/problem.h"
#include "tasks/time_series/trained_model.h"

namespace primal::tasks {

EvalResult evaluate_run(const std::filesystem::path& run, const std::string& file, const std::string& data,
                        int64_t threads) {
  TrainedModel trained = load_trained_model(run, threads);
  data::TimeSeriesSet set = file.empty() ? SeriesData(trained.config, data_search_path(data)).load_test(trained.facts)
                                         : load_labelled(file, trained.facts, looks_at_times(trained.config));
  const std::string name = file.empty() ? trained.facts.name + " TEST" : file;
  return {model_name(trained.config) + " of " + run.string() + " on " + name + ", " + std::to_string(set.cases()) +
              " series",
          evaluate(*trained.model, set, trained.facts), trained.facts.classes};
}

}  // namespace primal::tasks
