#include "tasks/config.h"

#include <algorithm>
#include <thread>

#include "base/format.h"
#include "base/text.h"
#include "primal/error.h"
#include "train/compute_threads.h"

namespace primal::tasks {

namespace {

constexpr base::Names<Protocol, 2> kProtocolNames{{{"honest", Protocol::honest}, {"paper", Protocol::paper}}};
void check_run(const RunOptions& run, const train::TrainOptions& train, train::Keep published) {
  if (run.protocol == Protocol::honest) return;
  if (run.refit) throw Error("run.refit: belongs to the honest protocol, got run.protocol = paper");
  if (train.keep == train::Keep::last && published == train::Keep::best) {
    throw Error("train.keep: last belongs to the honest protocol, got run.protocol = paper");
  }
}

}  // namespace

void add_settings(base::Settings& settings, RunOptions& run) {
  settings.add("run.family", &run.family, "of tasks");
  settings.add("run.preset", &run.preset, "where the configuration began");
  settings.add("run.protocol", base::choice(run.protocol, kProtocolNames), "how the reported weights are chosen");
  settings.add("run.refit", &run.refit, "honest: then train on all of TRAIN for as long");
  settings.add("run.test", &run.test, "honest: evaluate TEST at the end; sweeps do not");
  settings.add("run.threads", &run.threads, "0 = one per core",
               base::from_to(0, static_cast<double>(train::kMostThreads)));
}

void Config::add_settings(base::Settings& settings) {
  tasks::add_settings(settings, run);
  add_own_settings(settings);
  train::add_settings(settings, train);
  train::add_settings(settings, optimizer);
  train::add_settings(settings, schedule);
}

void Config::check() {
  base::Settings settings;
  add_settings(settings);
  settings.check();
  check_combinations();
}

void Config::check_combinations() const {
  check_own();
  train::check(optimizer);
  check_run(run, train, published_keep());
}

std::string Config::advice() const {
  std::vector<std::string> causes = too_large();
  // Each step takes this share of a weight away.
  const double decay = optimizer.lr * optimizer.weight_decay;
  if (decay >= 1 || optimizer.weight_decay > 10) {
    causes.push_back("optimizer.weight_decay=0.01 instead of " + base::format_digits(optimizer.weight_decay, 4));
  }
  if (!causes.empty()) return "try " + base::joined(causes, " and ");
  return train.clip > 0 && train.clip <= 1 ? "try a smaller optimizer.lr"
                                           : "try a smaller optimizer.lr or train.clip=1";
}

std::string Config::toml() {
  base::Settings settings;
  add_settings(settings);
  return settings.toml();
}

int64_t threads_of(const RunOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, train::kMostThreads);
}

}  // namespace primal::tasks
