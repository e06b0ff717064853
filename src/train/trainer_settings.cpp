#include "train/settings.h"
#include "train/trainer.h"

namespace primal::train {

void add_settings(Settings& settings, TrainOptions& train, OptimizerOptions& optimizer, ScheduleOptions& schedule) {
  settings.add("train.epochs", &train.epochs, "passes over the training part");
  settings.add("train.batch", &train.batch, "examples of a batch");
  settings.add("train.accumulate", &train.accumulate, "batches of one optimizer step");
  settings.add("train.clip", &train.clip, "largest norm of the gradient; 0 = any");
  settings.add("train.patience", &train.patience, "epochs without a better evaluation before the run ends; 0 = all");
  settings.add("train.average", &train.average,
               "decay of the moving average of the weights that is evaluated and kept; 0 = none");
  settings.add("train.keep", choice(train.keep, {{"best", Keep::best}, {"last", Keep::last}}),
               "the epoch that a run ends with, of those evaluated");
  settings.add("train.evaluate_every", &train.evaluate_every, "epochs between evaluations (honest protocol)");
  settings.add("train.precision", &train.precision, "float32, bfloat16 (autocast), auto: bfloat16 if the CPU has it");
  settings.add("train.seed", &train.seed, "of initialisation, order, dropout and validation split");
  settings.add("train.checkpoint_seconds", &train.checkpoint_seconds, "at most so long between checkpoints");
  settings.add("train.checkpoint_steps", &train.checkpoint_steps, "also one after every so many steps; 0 = none");
  settings.add("train.checkpoints_kept", &train.checkpoints_kept, "the newest");

  using enum OptimizerKind;
  settings.add(
      "optimizer.name",
      choice(optimizer.kind,
             {{"adamw", adamw}, {"adam", adam}, {"radam", radam}, {"radam_published", radam_published}, {"sgd", sgd}}),
      "radam_published: as in the published time-series runs");
  settings.add("optimizer.lr", &optimizer.lr, "learning rate");
  settings.add("optimizer.beta1", &optimizer.beta1, "decay of the mean of gradients");
  settings.add("optimizer.beta2", &optimizer.beta2, "decay of the mean of squared gradients");
  settings.add("optimizer.eps", &optimizer.eps, "added to the root of the mean square");
  settings.add("optimizer.weight_decay", &optimizer.weight_decay, "not on biases, norms and Lambda");
  settings.add("optimizer.momentum", &optimizer.momentum, "of sgd");
  settings.add("optimizer.nesterov", &optimizer.nesterov, "of sgd");

  settings.add("schedule.name",
               choice(schedule.kind, {{"constant", ScheduleKind::constant},
                                      {"step", ScheduleKind::step},
                                      {"cosine", ScheduleKind::cosine},
                                      {"inverse_sqrt", ScheduleKind::inverse_sqrt},
                                      {"one_cycle", ScheduleKind::one_cycle}}),
               "of the learning rate");
  settings.add("schedule.warmup_steps", &schedule.warmup_steps, "linear rise at the start");
  settings.add("schedule.warmup_start_lr", &schedule.warmup_start_lr, "where the rise begins");
  settings.add("schedule.step_factor", &schedule.step_factor, "step: times this ...");
  settings.add("schedule.step_every", &schedule.step_every, "step: ... after every so many steps");
  settings.add("schedule.final_fraction", &schedule.final_fraction, "cosine: last rate / optimizer.lr");
  settings.add("schedule.rise_fraction", &schedule.rise_fraction, "one_cycle: part of the run that rises");
  settings.add("schedule.start_divisor", &schedule.start_divisor, "one_cycle: optimizer.lr / first rate");
  settings.add("schedule.final_divisor", &schedule.final_divisor, "one_cycle: first rate / last rate");
  settings.add("schedule.cycle_momentum", &schedule.cycle_momentum, "one_cycle: beta1 falls while the rate rises");
}

}  // namespace primal::train
