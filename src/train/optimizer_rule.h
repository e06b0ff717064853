// What the optimizers are: the coefficients of one step (kernels/optimizer_step.h), as a function of its number.
#pragma once

#include <cstdint>

#include "kernels/optimizer_step.h"
#include "train/optimizer_options.h"

namespace primal::train {

/// What one step of one parameter is told.
struct StepSetting {
  double lr;
  double momentum;  ///< beta1, or sgd's momentum
  double weight_decay;
  double gradient_scale;
  int64_t step;  ///< 1, 2, ... of this parameter
};

kernels::StepCoefficients step_coefficients(const OptimizerOptions& options, const StepSetting& setting);

bool has_first_moment(const OptimizerOptions& options);
bool has_second_moment(const OptimizerOptions& options);

}  // namespace primal::train
