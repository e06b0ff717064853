#include "train/options.h"

#include "base/settings.h"
#include "base/text.h"
#include "train/optimizer_options.h"
#include "train/schedule.h"

namespace primal::train {

namespace {

constexpr base::Names<Keep, 2> kKeepNames{{{"best", Keep::best}, {"last", Keep::last}}};
constexpr base::Names<Precision, 3> kPrecisionNames{
    {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}, {"auto", Precision::automatic}}};
constexpr base::Names<Passes, 2> kPassesNames{{{"whole", Passes::whole}, {"endless", Passes::endless}}};

}  // namespace

void check_at_least(const char* key, int64_t value, int64_t least) {
  if (value < least) base::fail(key, "expected at least ", least, ", got ", value);
}

void check_span(const char* key, base::Span span, int64_t least) {
  constexpr int64_t kMost = 1'000'000'000;
  if (span.count < least)
    base::fail(key, "expected at least ", base::to_text({least, span.unit}), ", got ", base::to_text(span));
  if (span.count > kMost)
    base::fail(key, "expected at most ", base::to_text({kMost, span.unit}), ", got ", base::to_text(span));
}

void check_share(const char* key, double value) {
  if (!(value >= 0 && value < 1)) base::fail(key, "expected at least 0 and below 1, got ", value);
}

void add_settings(base::Settings& settings, TrainOptions& train) {
  using base::SpanUnit;
  settings.add("train.length", base::SpanField{&train.length, SpanUnit::epochs},
               "of the run, \"100 epochs\" (passes over the training part) or \"5000 steps\"");
  settings.add("train.batch", &train.batch, "examples of a batch");
  settings.add("train.accumulate", &train.accumulate, "batches of one optimizer step");
  settings.add("train.passes", base::choice(train.passes, kPassesNames),
               "whole: a pass ends with a shorter batch; endless: batches run on into the next pass");
  settings.add("train.clip", &train.clip, "largest norm of the gradient; 0 = any");
  settings.add("train.patience", base::SpanField{&train.patience, SpanUnit::epochs},
               "without a better evaluation before the run ends; 0 = any");
  settings.add("train.average", &train.average,
               "decay of the moving average of the weights that is evaluated and kept; 0 = none");
  settings.add("train.keep", base::choice(train.keep, kKeepNames),
               "the weights that a run ends with, of those evaluated");
  settings.add("train.evaluate", base::SpanField{&train.evaluate, SpanUnit::epochs},
               "between evaluations (honest protocol)");
  settings.add("train.record", base::SpanField{&train.record, SpanUnit::steps},
               "between records, besides those at evaluations and ends of epochs; 0 = none");
  settings.add("train.precision", base::choice(train.precision, kPrecisionNames),
               "bfloat16: autocast; auto: bfloat16 if the CPU has it");
  settings.add("train.seed", &train.seed, "of initialisation, order, dropout and validation split");
  settings.add("train.checkpoint_seconds", &train.checkpoint_seconds, "at most so long between checkpoints");
  settings.add("train.checkpoint_steps", &train.checkpoint_steps, "also one after every so many steps; 0 = none");
  settings.add("train.checkpoints_kept", &train.checkpoints_kept, "the newest");
  settings.add_old("train.epochs", base::OldCount{&train.length, SpanUnit::epochs});
  settings.add_old("train.evaluate_every", base::OldCount{&train.evaluate, SpanUnit::epochs});
}

void check(const TrainOptions& train) {
  check_span("train.length", train.length, 1);
  check_at_least("train.batch", train.batch, 1);
  check_at_least("train.accumulate", train.accumulate, 1);
  check_span("train.patience", train.patience, 0);
  check_share("train.average", train.average);
  check_span("train.evaluate", train.evaluate, 1);
  check_span("train.record", train.record, 0);
  check_at_least("train.checkpoints_kept", train.checkpoints_kept, 1);
}

void add_settings(base::Settings& settings, OptimizerOptions& optimizer) {
  settings.add("optimizer.name", base::choice(optimizer.kind, kOptimizerNames),
               "radam_published: as in the published time-series runs");
  settings.add("optimizer.lr", &optimizer.lr, "learning rate");
  settings.add("optimizer.beta1", &optimizer.beta1, "decay of the mean of gradients");
  settings.add("optimizer.beta2", &optimizer.beta2, "decay of the mean of squared gradients");
  settings.add("optimizer.eps", &optimizer.eps, "added to the root of the mean square");
  settings.add("optimizer.weight_decay", &optimizer.weight_decay, "not on biases, norms and Lambda");
  settings.add("optimizer.momentum", &optimizer.momentum, "of sgd");
  settings.add("optimizer.nesterov", &optimizer.nesterov, "of sgd");
}

void add_settings(base::Settings& settings, ScheduleOptions& schedule) {
  settings.add("schedule.name", base::choice(schedule.kind, kScheduleNames), "of the learning rate");
  settings.add("schedule.warmup", base::SpanField{&schedule.warmup, base::SpanUnit::steps},
               "linear rise at the start; one_cycle: its rise, instead of rise_fraction");
  settings.add_old("schedule.warmup_steps", base::OldCount{&schedule.warmup, base::SpanUnit::steps});
  settings.add("schedule.warmup_start_lr", &schedule.warmup_start_lr, "where the rise begins");
  settings.add("schedule.step_factor", &schedule.step_factor, "step: times this ...");
  settings.add("schedule.step_every", &schedule.step_every, "step: ... after every so many steps");
  settings.add("schedule.final_fraction", &schedule.final_fraction, "cosine: last rate / optimizer.lr");
  settings.add("schedule.rise_fraction", &schedule.rise_fraction, "one_cycle: part of the run that rises");
  settings.add("schedule.start_divisor", &schedule.start_divisor, "one_cycle: optimizer.lr / first rate");
  settings.add("schedule.final_divisor", &schedule.final_divisor, "one_cycle: first rate / last rate");
  settings.add("schedule.annealing", base::choice(schedule.one_cycle_annealing, kAnnealingNames),
               "one_cycle: how it rises and falls");
  settings.add("schedule.cycle_momentum", &schedule.cycle_momentum, "one_cycle: beta1 falls while the rate rises");
  settings.add("schedule.low_momentum", &schedule.low_momentum, "one_cycle: beta1 where the rate is highest");
  settings.add("schedule.high_momentum", &schedule.high_momentum, "one_cycle: beta1 at both ends");
}

}  // namespace primal::train
