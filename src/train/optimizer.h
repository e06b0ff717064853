// Optimizers: AdamW, Adam, RAdam (torch.optim's and the published one), SGD.
//
//   Optimizer optimizer({{"head.weight", head->weight}, {"head.bias", head->bias, /*decay=*/false}}, {.lr = 1e-3});
//   loss.backward();
//   const double norm = optimizer.gradient_norm();
//   optimizer.step(lr, clip_scale(norm, 4));   // clipping costs no pass of its own
//   optimizer.zero_grad();
//
// Each step is one pass over memory in one parallel region. The result does not depend on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/optimizer_options.h"

namespace primal::train {

/// What a gradient is taken times so that its norm is at most `largest` (0 = any), as clip_grad_norm_ of PyTorch does.
double clip_scale(double norm, double largest);

class Optimizer {
 public:
  struct Parameter {
    std::string name;
    at::Tensor value;   ///< contiguous, float32 or float64, on the CPU
    bool decay = true;  ///< false: no weight decay (biases, norms, ...)
  };

  Optimizer(std::vector<Parameter> parameters, OptimizerOptions options);

  const OptimizerOptions& options() const { return options_; }

  /// 2-norm of all gradients together, in double. Parameters without gradient count 0.
  double gradient_norm() const;

  /// Updates every parameter that has a gradient, taken times gradient_scale; the others are left alone and do not
  /// count the step, as in torch.optim. `momentum`: beta1 (or sgd's momentum) of this step if a schedule cycles it.
  void step(double lr, double gradient_scale = 1, std::optional<double> momentum = std::nullopt);

  /// Drops the gradients: the next backward pass hands its own over instead of adding to zeros.
  void zero_grad();

  /// Copies: "<name>.m" and "<name>.v" as far as the kind has them, shaped as the parameter, and "<name>.step", the
  /// number of its steps, int64 scalar.
  std::map<std::string, at::Tensor> state() const;

  /// Continues from state(). Throws Error that names the tensor, what was expected and what came; then nothing is
  /// changed.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  struct Slot {
    Parameter parameter;
    at::Tensor m, v;  // undefined where the kind has none
    int64_t steps = 0;
  };

  // The tensors and the count of a slot by the names of state(); the count as a tensor of its own.
  static std::map<std::string, at::Tensor> state_of(const Slot& slot);

  OptimizerOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace primal::train
