#include "train/options.h"

#include "base/settings.h"
#include "train/optimizer_options.h"
#include "train/schedule.h"

namespace primal::train {

namespace {

constexpr base::Names<Keep, 2> kKeepNames{{{"best", Keep::best}, {"last", Keep::last}}};
constexpr base::Names<Precision, 3> kPrecisionNames{
    {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}, {"auto", Precision::automatic}}};
constexpr base::Names<Passes, 2> kPassesNames{{{"whole", Passes::whole}, {"endless", Passes::endless}}};

}  // namespace

void add_settings(base::Settings& settings, TrainOptions& train) {
  using base::SpanUnit;
  settings.add("train.length", base::SpanField{&train.length, SpanUnit::epochs},
               "of the run, \"100 epochs\" (passes over the training part) or \"5000 steps\"", base::at_least(1));
  settings.add("train.batch", &train.batch, "examples of a batch", base::count_from(1));
  settings.add("train.accumulate", &train.accumulate, "batches of one optimizer step", base::count_from(1));
  settings.add("train.passes", base::choice(train.passes, kPassesNames),
               "whole: a pass ends with a shorter batch; endless: batches run on into the next pass");
  settings.add("train.clip", &train.clip, "largest norm of the gradient; 0 = any", base::at_least(0));
  settings.add("train.patience", base::SpanField{&train.patience, SpanUnit::epochs},
               "without a better evaluation before the run ends; 0 = any", base::at_least(0));
  settings.add("train.average", &train.average,
               "decay of the moving average of the weights that is evaluated and kept; 0 = none", base::share());
  settings.add("train.keep", base::choice(train.keep, kKeepNames),
               "the weights that a run ends with, of those evaluated");
  settings.add("train.evaluate", base::SpanField{&train.evaluate, SpanUnit::epochs},
               "between evaluations (honest protocol)", base::at_least(1));
  settings.add("train.record", base::SpanField{&train.record, SpanUnit::steps},
               "between records, besides those at evaluations and ends of epochs; 0 = none", base::at_least(0));
  settings.add("train.precision", base::choice(train.precision, kPrecisionNames),
               "bfloat16: autocast; auto: bfloat16 if the CPU has it");
  settings.add("train.seed", &train.seed, "of initialisation, order, dropout and validation split", base::at_least(0));
  settings.add("train.start_from", &train.start_from,
               "first weights: a run (its best/), a checkpoint or a safetensors file; none: by the seed");
  settings.add("train.checkpoint_seconds", &train.checkpoint_seconds, "at most so long between checkpoints",
               base::at_least(0));
  settings.add("train.checkpoint_steps", &train.checkpoint_steps, "also one after every so many steps; 0 = none",
               base::at_least(0));
  settings.add("train.checkpoints_kept", &train.checkpoints_kept, "the newest", base::at_least(1));
  settings.add_old("train.epochs", base::OldCount{&train.length, SpanUnit::epochs});
  settings.add_old("train.evaluate_every", base::OldCount{&train.evaluate, SpanUnit::epochs});
}

void add_settings(base::Settings& settings, OptimizerOptions& optimizer) {
  settings.add("optimizer.name", base::choice(optimizer.kind, kOptimizerNames),
               "radam_published: as in the published time-series runs");
  settings.add("optimizer.lr", &optimizer.lr, "learning rate", base::at_least(0));
  settings.add("optimizer.beta1", &optimizer.beta1, "decay of the mean of gradients", base::share());
  settings.add("optimizer.beta2", &optimizer.beta2, "decay of the mean of squared gradients", base::share());
  settings.add("optimizer.eps", &optimizer.eps, "added to the root of the mean square", base::at_least(0));
  settings.add("optimizer.weight_decay", &optimizer.weight_decay, "see optimizer.decays", base::at_least(0));
  settings.add("optimizer.decays", base::choice(optimizer.decays, kDecayNames),
               "weights: not biases, norms and Lambda; all: every parameter");
  settings.add("optimizer.momentum", &optimizer.momentum, "of sgd", base::share());
  settings.add("optimizer.nesterov", &optimizer.nesterov, "of sgd");
}

void add_settings(base::Settings& settings, ScheduleOptions& schedule) {
  settings.add("schedule.name", base::choice(schedule.kind, kScheduleNames), "of the learning rate");
  settings.add("schedule.warmup", base::SpanField{&schedule.warmup, base::SpanUnit::steps},
               "linear rise at the start; one_cycle: its rise, instead of rise_fraction", base::at_least(0));
  settings.add_old("schedule.warmup_steps", base::OldCount{&schedule.warmup, base::SpanUnit::steps});
  settings.add("schedule.warmup_start_lr", &schedule.warmup_start_lr, "where the rise begins", base::at_least(0));
  settings.add("schedule.step_factor", &schedule.step_factor, "step: times this ...", base::more_than(0));
  settings.add("schedule.step_every", &schedule.step_every, "step: ... after every so many steps", base::at_least(0));
  settings.add("schedule.final_fraction", &schedule.final_fraction, "cosine: last rate / optimizer.lr",
               base::at_least(0));
  settings.add("schedule.rise_fraction", &schedule.rise_fraction, "one_cycle: part of the run that rises",
               base::from_to(0, 1));
  settings.add("schedule.start_divisor", &schedule.start_divisor, "one_cycle: optimizer.lr / first rate",
               base::more_than(0));
  settings.add("schedule.final_divisor", &schedule.final_divisor, "one_cycle: first rate / last rate",
               base::more_than(0));
  settings.add("schedule.annealing", base::choice(schedule.one_cycle_annealing, kAnnealingNames),
               "one_cycle: how it rises and falls");
  settings.add("schedule.cycle_momentum", &schedule.cycle_momentum, "one_cycle: beta1 falls while the rate rises");
  settings.add("schedule.low_momentum", &schedule.low_momentum, "one_cycle: beta1 where the rate is highest",
               base::share());
  settings.add("schedule.high_momentum", &schedule.high_momentum, "one_cycle: beta1 at both ends", base::share());
}

}  // namespace primal::train
