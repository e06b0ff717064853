// The training loop, the same for every task: steps, evaluations, checkpoints, resume, early stopping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "run/run_directory.h"
#include "train/optimizer_options.h"
#include "train/options.h"
#include "train/problem.h"
#include "train/schedule.h"
#include "train/trainer_state.h"

namespace primal::train {

/// When a run evaluates: after every so many steps, after the last one, and at some times besides.
struct EvaluationTimes {
  base::Span every = base::epochs(1);
  std::vector<base::Span> also{};  ///< 0 steps: before the first one
};

/// What the protocol of a run decides, not its configuration.
struct TrainPlan {
  Part selection = Part::validation;                  ///< what evaluations during the run look at
  std::optional<EvaluationTimes> evaluations{};       ///< none: no evaluation
  std::optional<int64_t> last_step{};                 ///< stop here although the schedule goes on
  std::string advice = "try a smaller optimizer.lr";  ///< when numbers have run away
  /// After a record, with the steps done and those of the whole run; must not touch random generators.
  std::function<void(int64_t, int64_t)> after_record{};
};

struct Outcome {
  bool interrupted = false;  ///< a checkpoint was written; the rest is not final
  int64_t steps = 0;
  double epochs = 0;  ///< the same in passes over the training part
  BestWeights best;
  double best_epoch = -1;  ///< of best
  double seconds = 0;      ///< of training steps, over all sessions of the run
  int64_t tokens = 0;      ///< trained on
};

class Trainer {
 public:
  /// Goes on from the newest checkpoint of the run directory, if there is one; else begins with the weights that the
  /// model has: those of TrainOptions::start_from are given to it before (train/start_weights.h).
  Trainer(Problem& problem, const TrainOptions& train, const OptimizerOptions& optimizer,
          const ScheduleOptions& schedule, TrainPlan plan, run::RunDirectory& run, base::Progress& progress);
  ~Trainer();

  /// To the end, or to an interrupt. At the end the model has the weights that an evaluation would see.
  Outcome run();
  /// Gives the model the weights that are kept (RUN/best).
  void restore_best();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// Throws Error if a Trainer could not go on with the run: its newest checkpoint, if there is one, cannot be read, or
/// the schedule does not fit the length.
void check_can_go_on(const run::RunDirectory& run, const Problem& problem, const TrainOptions& train,
                     const ScheduleOptions& schedule);

}  // namespace primal::train
