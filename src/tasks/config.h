// The configuration of a run: what every family has. A family derives and adds its data, model and loss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "run/result.h"
#include "train/optimizer_options.h"
#include "train/options.h"
#include "train/schedule.h"
#include "train/trainer.h"

namespace primal::tasks {

using run::Protocol;

struct RunOptions {
  std::string family;  ///< of tasks; a name of families()
  std::string preset;  ///< where the configuration began
  Protocol protocol = Protocol::honest;
  bool refit = false;   ///< honest: train anew on all of TRAIN for as long as the validation part chose
  bool test = true;     ///< honest: evaluate TEST at the end; a search for options must not
  int64_t threads = 0;  ///< 0 = one per core
};

/// Makes them known as run.*
void add_settings(base::Settings& settings, RunOptions& options);

struct OwnFile {
  std::string key;  ///< "data.train"
  train::Part part;
  std::string* name;  ///< empty if the user has none
};

class Config {
 public:
  virtual ~Config() = default;

  /// Makes every option known by name. The settings refer to this object.
  void add_settings(base::Settings& settings);
  /// Throws Error for a number out of its range, and for keys that do not go together.
  void check();
  /// Of a run that an earlier version began: a number that was taken then is taken now.
  void check_combinations() const;
  /// The same options, as TOML.
  std::string toml();

  /// What to try when numbers have run away in training.
  std::string advice() const;

  /// "PrimalFormer", "Primal.+", ...
  virtual std::string model_name() const = 0;
  /// Files of the user's own: relative names become absolute, since a later command may be called from elsewhere. A run
  /// that goes on may be given other names for them.
  virtual std::vector<OwnFile> own_files() { return {}; }
  /// What the published runs chose their weights by.
  virtual train::Part published_selection() const { return train::Part::test; }
  /// Which weights the published runs report.
  virtual train::Keep published_keep() const { return train::Keep::best; }
  /// What this run chooses its weights by.
  train::Part selection() const {
    return run.protocol == Protocol::honest ? train::Part::validation : published_selection();
  }
  /// When the published runs evaluated.
  virtual train::EvaluationTimes published_evaluations() const { return {train.evaluate}; }

  /// Keys that were asked for by name on the command line: one that makes no sense is an error, while a preset's own is
  /// left out where it does not apply. Empty for a run that goes on.
  std::vector<std::string> asked_for;

  RunOptions run;
  train::TrainOptions train;
  train::OptimizerOptions optimizer;
  train::ScheduleOptions schedule;

 protected:
  /// data.*, model.*, loss.* and the like.
  virtual void add_own_settings(base::Settings& settings) = 0;
  /// What no single key can tell.
  virtual void check_own() const {}
  /// What is so large that numbers may run away: "loss.eta=0.1 instead of 1e+06".
  virtual std::vector<std::string> too_large() const { return {}; }
};

/// Threads that a configuration asks for: run.threads, or one per core.
int64_t threads_of(const RunOptions& options);

}  // namespace primal::tasks
