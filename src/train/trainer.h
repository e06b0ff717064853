// The training loop, the same for every task: steps, evaluations, checkpoints, resume, early stopping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/evaluation.h"
#include "train/optimizer.h"
#include "train/problem.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/schedule.h"

namespace primal::train {

class Settings;

/// Which of the evaluated epochs a run ends with.
enum class Keep { best, last };

struct TrainOptions {
  int64_t epochs = 100;
  int64_t batch = 16;
  int64_t accumulate = 1;  ///< batches per step of the optimizer
  double clip = 0;         ///< largest norm of the gradient; 0 = any
  int64_t patience = 0;    ///< epochs without a better evaluation before a run that keeps the best ends; 0 = all
  double average = 0;      ///< decay of the moving average of the weights; 0 = none
  Keep keep = Keep::best;
  int64_t evaluate_every = 1;         ///< epochs
  std::string precision = "float32";  ///< float32, bfloat16, auto (bfloat16 if the CPU has it)
  int64_t seed = 1;
  double checkpoint_seconds = 30;
  int64_t checkpoint_steps = 0;  ///< 0 = by seconds only
  int64_t checkpoints_kept = 2;

  // Decided by the protocol, not by the configuration.
  Part selection = Part::validation;         ///< what evaluations during the run look at
  std::function<bool(int64_t)> evaluates;    ///< after which epochs; epoch 0 is before the first step
  std::optional<int64_t> last_epoch;         ///< stop here although the schedule goes on to `epochs`
  std::function<void(int64_t)> after_epoch;  ///< gets the number of finished epochs; must not touch random generators
};

/// The evaluated epoch that is kept: the best so far, or the last one with Keep::last.
struct BestEpoch {
  int64_t epoch = -1;  ///< -1: there was no evaluation
  Evaluation evaluation;
};

struct Outcome {
  bool interrupted = false;  ///< a checkpoint was written; the rest is not final
  int64_t epochs = 0;
  BestEpoch best;
  double seconds = 0;  ///< of training steps, over all sessions of the run
  int64_t tokens = 0;  ///< trained on
};

/// Makes the settings of these options known under train.*, optimizer.* and schedule.*.
void add_settings(Settings& settings, TrainOptions& train, OptimizerOptions& optimizer, ScheduleOptions& schedule);

/// Throws Error if the newest checkpoint of the run, if there is one, cannot be read.
void check_newest_checkpoint(const RunDirectory& run);

class Trainer {
 public:
  /// Goes on from the newest checkpoint of the run directory, if there is one.
  Trainer(Problem& problem, TrainOptions train, OptimizerOptions optimizer, ScheduleOptions schedule, RunDirectory& run,
          Progress& progress);
  ~Trainer();

  /// To the end, or to an interrupt. At the end the model has the weights that an evaluation would see.
  Outcome run();
  /// Gives the model the weights of the epoch that is kept (RUN/best).
  void restore_best();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace primal::train
