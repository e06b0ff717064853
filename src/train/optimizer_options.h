// Which optimizer, and with which numbers.
#pragma once

#include <string_view>

#include "base/names.h"

namespace primal::base {
class Settings;
}

namespace primal::train {

enum class OptimizerKind {
  adamw,            ///< Adam with decoupled weight decay, torch.optim.AdamW
  adam,             ///< weight decay is part of the gradient, torch.optim.Adam
  radam,            ///< torch.optim.RAdam
  radam_published,  ///< RAdam of its authors, SPEC 3.1: decoupled weight decay, rectified from rho_t = 5 on
  sgd,              ///< torch.optim.SGD
};

inline constexpr base::Names<OptimizerKind, 5> kOptimizerNames{{{"adamw", OptimizerKind::adamw},
                                                                {"adam", OptimizerKind::adam},
                                                                {"radam", OptimizerKind::radam},
                                                                {"radam_published", OptimizerKind::radam_published},
                                                                {"sgd", OptimizerKind::sgd}}};

/// What weight decay acts on.
enum class Decays {
  weights,  ///< as Problem::decays says: not on biases, norms and Lambda
  all,      ///< every parameter
};

inline constexpr base::Names<Decays, 2> kDecayNames{{{"weights", Decays::weights}, {"all", Decays::all}}};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double lr = 1e-3;  ///< where schedules begin from; step() is told the rate of each step
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  Decays decays = Decays::weights;
  double momentum = 0.9;  ///< of sgd
  bool nesterov = false;  ///< of sgd
};

/// Throws Error that names the option, what was expected and what came.
void check(const OptimizerOptions& options);

/// Makes them known as optimizer.*
void add_settings(base::Settings& settings, OptimizerOptions& options);

}  // namespace primal::train
