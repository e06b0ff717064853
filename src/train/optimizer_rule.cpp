#include "train/optimizer_rule.h"

#include <cmath>

namespace primal::train {

namespace {

using kernels::StepCoefficients;

// RAdam (Liu et al. 2020): the length rho_t of the window that v averages over, and the correction of its variance.
struct Rectification {
  double rho;
  double factor;  ///< of the step, where rho > 4
};

Rectification rectification(double beta2, double bias2, double t) {
  const double rho_inf = 2 / (1 - beta2) - 1;
  const double rho = rho_inf - 2 * t * std::pow(beta2, t) / bias2;
  return {rho, std::sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))};
}

StepCoefficients moments(const OptimizerOptions& options, const StepSetting& setting) {
  StepCoefficients c;
  c.gradient_scale = setting.gradient_scale;
  c.beta1 = setting.momentum;
  c.gain1 = 1 - setting.momentum;
  c.beta2 = options.beta2;
  c.eps = options.eps;
  return c;
}

void decay(StepCoefficients& c, const StepSetting& setting, bool decoupled) {
  if (decoupled) {
    c.keep = 1 - setting.lr * setting.weight_decay;
  } else {
    c.l2 = setting.weight_decay;
  }
}

StepCoefficients adam(const OptimizerOptions& options, const StepSetting& setting) {
  StepCoefficients c = moments(options, setting);
  decay(c, setting, options.kind == OptimizerKind::adamw);
  const auto t = static_cast<double>(setting.step);
  c.adaptive = true;
  c.step_m = setting.lr / (1 - std::pow(c.beta1, t));
  c.root_scale = 1 / std::sqrt(1 - std::pow(c.beta2, t));
  return c;
}

// Both divide by sqrt(v) + eps with v as it is, and put its bias into the step. They differ in the weight decay and in
// which side of rho_t = 5 is rectified when it is met exactly.
StepCoefficients radam(const OptimizerOptions& options, const StepSetting& setting) {
  const bool published = options.kind == OptimizerKind::radam_published;
  StepCoefficients c = moments(options, setting);
  decay(c, setting, published);
  const auto t = static_cast<double>(setting.step);
  const double bias1 = 1 - std::pow(c.beta1, t), bias2 = 1 - std::pow(c.beta2, t);
  const auto [rho, factor] = rectification(c.beta2, bias2, t);
  c.adaptive = published ? rho >= 5 : rho > 5;
  c.step_m = setting.lr / bias1 * (c.adaptive ? std::sqrt(bias2) * factor : 1);
  return c;
}

StepCoefficients sgd(const OptimizerOptions& options, const StepSetting& setting) {
  StepCoefficients c;
  c.gradient_scale = setting.gradient_scale;
  decay(c, setting, /*decoupled=*/false);
  c.beta1 = setting.momentum;
  if (!has_first_moment(options)) {
    c.step_g = setting.lr;
  } else if (options.nesterov) {
    c.step_g = setting.lr;
    c.step_m = setting.lr * setting.momentum;
  } else {
    c.step_m = setting.lr;
  }
  return c;
}

}  // namespace

StepCoefficients step_coefficients(const OptimizerOptions& options, const StepSetting& setting) {
  switch (options.kind) {
    case OptimizerKind::adamw:
    case OptimizerKind::adam:
      return adam(options, setting);
    case OptimizerKind::radam:
    case OptimizerKind::radam_published:
      return radam(options, setting);
    case OptimizerKind::sgd:
      break;
  }
  return sgd(options, setting);
}

bool has_first_moment(const OptimizerOptions& options) {
  return options.kind != OptimizerKind::sgd || options.momentum != 0;
}

bool has_second_moment(const OptimizerOptions& options) { return options.kind != OptimizerKind::sgd; }

}  // namespace primal::train
