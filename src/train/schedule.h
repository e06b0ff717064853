// Learning rates over a run, as pure functions of the step: to resume needs nothing but the step.
#pragma once

#include <cstdint>

#include "base/names.h"
#include "base/span.h"

namespace primal::base {
class Settings;
}

namespace primal::train {

enum class ScheduleKind {
  constant,
  step,          ///< times step_factor after every step_every steps, torch StepLR
  cosine,        ///< from the base rate to final_fraction of it along half a cosine, torch CosineAnnealingLR
  inverse_sqrt,  ///< base * sqrt(warmup_steps / step), fairseq
  one_cycle,     ///< up to the base rate and down to nearly 0, torch OneCycleLR
};

enum class Annealing { cosine, linear };

inline constexpr base::Names<ScheduleKind, 5> kScheduleNames{{{"constant", ScheduleKind::constant},
                                                              {"step", ScheduleKind::step},
                                                              {"cosine", ScheduleKind::cosine},
                                                              {"inverse_sqrt", ScheduleKind::inverse_sqrt},
                                                              {"one_cycle", ScheduleKind::one_cycle}}};
inline constexpr base::Names<Annealing, 2> kAnnealingNames{
    {{"cosine", Annealing::cosine}, {"linear", Annealing::linear}}};

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  base::Span warmup{};  ///< linear, before any schedule; one_cycle has its own rise

  // In steps: only the trainer knows how many an epoch has. It fills them in.
  int64_t total_steps = 0;     ///< of the run: cosine, one_cycle. Later steps keep the last rate
  int64_t warmup_steps = 0;    ///< one_cycle: length of its rise if > 0, the peak is at step warmup_steps - 1
  double warmup_start_lr = 0;  ///< 0: base * (step + 1) / warmup_steps. Else from this rate at step 0 to the base rate
                               ///< at step warmup_steps, as fairseq (1e-7) and timm (1e-6) do

  double step_factor = 0.1;   ///< step
  int64_t step_every = 0;     ///< step; counted from the start of the run, warm-up included
  double final_fraction = 0;  ///< cosine: last rate / base rate

  double rise_fraction = 0.3;  ///< one_cycle: part of total_steps that rises (pct_start) if warmup_steps is 0
  double start_divisor = 25;   ///< one_cycle: base rate / first rate
  double final_divisor = 1e4;  ///< one_cycle: first rate / last rate
  Annealing one_cycle_annealing = Annealing::cosine;
  /// one_cycle: the momentum (beta1 of Adam) falls from high_momentum to low_momentum while the rate rises, and back.
  /// torch's default is true, ours is not: beta1 silently differing from what was set surprises. LRA was run with it.
  bool cycle_momentum = false;
  double low_momentum = 0.85;
  double high_momentum = 0.95;
};

/// Makes them known as schedule.*
void add_settings(base::Settings& settings, ScheduleOptions& options);

/// Throws Error that names the option, what was expected and what came.
void check(const ScheduleOptions& options);

/// The rate of step 0, 1, 2, ...
double learning_rate(const ScheduleOptions& options, double base_lr, int64_t step);

/// The momentum of that step: base_momentum unless the schedule cycles it.
double momentum(const ScheduleOptions& options, double base_momentum, int64_t step);

}  // namespace primal::train
