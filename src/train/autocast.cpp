#include "train/autocast.h"

#include <ATen/autocast_mode.h>

#include "kernels/cpu_features.h"

namespace primal::train {

Autocast::Autocast(Precision precision)
    : enabled_(precision == Precision::bfloat16 || (precision == Precision::automatic && kernels::cpu_has_bfloat16())) {
}

Autocast::Scope::Scope(bool enable) : enabled_(enable), before_(at::autocast::is_autocast_enabled(at::kCPU)) {
  if (!enabled_) return;
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::increment_nesting();
}

Autocast::Scope::~Scope() {
  if (!enabled_) return;
  // The weights' bfloat16 copies are kept during a pass and are stale after it.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, before_);
}

}  // namespace primal::train
