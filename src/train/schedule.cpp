#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <string>

#include "primal/error.h"

namespace primal::train {

namespace {

template <typename Number>
void require(bool met, const char* option, Number value, const std::string& expected) {
  if (met) return;
  std::ostringstream message;
  message << "schedule: " << option << " " << value << ", expected " << expected;
  throw Error(message.str());
}

// From `start` at part 0 to `end` at part 1.
double anneal(Annealing kind, double start, double end, double part) {
  if (kind == Annealing::linear) return start + (end - start) * part;
  return end + (start - end) / 2 * (std::cos(std::numbers::pi * part) + 1);
}

// A value that goes from start to peak over the rise of the cycle, and to end over the rest.
double cycle(const ScheduleOptions& o, int64_t step, double start, double peak, double end) {
  const auto total = static_cast<double>(o.total_steps);
  const double rise = o.warmup_steps > 0 ? static_cast<double>(o.warmup_steps) : o.rise_fraction * total;
  // As torch counts: the peak is the last step of the rise, the end is the last step of all. With rises of a fractional
  // number of steps the peak lies between two steps.
  const double peak_at = std::max(rise - 1, 0.0), end_at = total - 1;
  const double at = std::min(static_cast<double>(step), end_at);
  if (at < peak_at) return anneal(o.one_cycle_annealing, start, peak, at / peak_at);
  if (end_at <= peak_at) return peak;
  return anneal(o.one_cycle_annealing, peak, end, (at - peak_at) / (end_at - peak_at));
}

double warm_up(const ScheduleOptions& o, double base_lr, int64_t step) {
  const auto warmup = static_cast<double>(o.warmup_steps);
  if (o.warmup_start_lr == 0) return base_lr * static_cast<double>(step + 1) / warmup;
  return o.warmup_start_lr + (base_lr - o.warmup_start_lr) * static_cast<double>(step) / warmup;
}

double cosine(const ScheduleOptions& o, double base_lr, int64_t step) {
  const double part = static_cast<double>(std::min(step, o.total_steps) - o.warmup_steps) /
                      static_cast<double>(o.total_steps - o.warmup_steps);
  return anneal(Annealing::cosine, base_lr, base_lr * o.final_fraction, part);
}

void check_one_cycle(const ScheduleOptions& o) {
  require(o.rise_fraction >= 0 && o.rise_fraction <= 1, "rise_fraction", o.rise_fraction, "0 to 1");
  require(o.start_divisor > 0, "start_divisor", o.start_divisor, "a positive number");
  require(o.final_divisor > 0, "final_divisor", o.final_divisor, "a positive number");
  require(o.low_momentum >= 0 && o.low_momentum < 1, "low_momentum", o.low_momentum, "0 <= low_momentum < 1");
  require(o.high_momentum >= 0 && o.high_momentum < 1, "high_momentum", o.high_momentum, "0 <= high_momentum < 1");
}

}  // namespace

void check(const ScheduleOptions& o) {
  require(o.warmup_steps >= 0, "warmup", o.warmup_steps, "0 or more");
  require(o.warmup_start_lr >= 0, "warmup_start_lr", o.warmup_start_lr, "0 or more");
  require(!o.cycle_momentum || o.kind == ScheduleKind::one_cycle, "cycle_momentum", "true",
          "false, because only one_cycle cycles it");
  switch (o.kind) {
    case ScheduleKind::constant:
      return;
    case ScheduleKind::step:
      require(o.step_every > 0, "step_every", o.step_every, "a positive number of steps");
      return require(o.step_factor > 0, "step_factor", o.step_factor, "a positive number");
    case ScheduleKind::inverse_sqrt:
      return require(o.warmup_steps > 0, "warmup", o.warmup_steps, "a positive number for inverse_sqrt");
    case ScheduleKind::cosine:
      require(o.final_fraction >= 0, "final_fraction", o.final_fraction, "0 or more");
      return require(o.total_steps > o.warmup_steps, "warmup", o.warmup_steps,
                     "fewer than the " + std::to_string(o.total_steps) + " steps of the run");
    case ScheduleKind::one_cycle:
      check_one_cycle(o);
      require(o.total_steps > 0, "total_steps", o.total_steps, "a positive number");
      return require(o.total_steps >= o.warmup_steps, "warmup", o.warmup_steps,
                     "at most the " + std::to_string(o.total_steps) + " steps of the run");
  }
}

double learning_rate(const ScheduleOptions& o, double base_lr, int64_t step) {
  check(o);
  require(step >= 0, "step", step, "0 or more");
  if (o.kind == ScheduleKind::one_cycle) {
    const double start = base_lr / o.start_divisor;
    return cycle(o, step, start, base_lr, start / o.final_divisor);
  }
  if (step < o.warmup_steps) return warm_up(o, base_lr, step);
  switch (o.kind) {
    case ScheduleKind::step: {
      const int64_t times = step / o.step_every;
      return base_lr * std::pow(o.step_factor, static_cast<double>(times));
    }
    case ScheduleKind::cosine:
      return cosine(o, base_lr, step);
    case ScheduleKind::inverse_sqrt:
      return base_lr * std::sqrt(static_cast<double>(o.warmup_steps) / static_cast<double>(step));
    case ScheduleKind::constant:
    case ScheduleKind::one_cycle:
      break;
  }
  return base_lr;
}

double momentum(const ScheduleOptions& o, double base_momentum, int64_t step) {
  check(o);
  if (!o.cycle_momentum) return base_momentum;
  return cycle(o, step, o.high_momentum, o.low_momentum, o.high_momentum);
}

}  // namespace primal::train
