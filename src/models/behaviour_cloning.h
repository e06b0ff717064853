// Behaviour cloning: the action that was taken in such a state, whatever the return. The baseline of the Decision
// Transformer.
//
//   BehaviourCloning model(CloningOptions{.states = 17, .actions = 6});
//   torch::Tensor actions = model->forward(windows.states, windows.padding);   // [B, N, 17] -> [B, N, 6]
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>

namespace primal::models {

/// The defaults are the published ones, but for `steps`: the published baseline sees 20.
struct CloningOptions {
  int64_t states = 0;    ///< S, numbers of a state
  int64_t actions = 0;   ///< A, numbers of an action
  int64_t steps = 1;     ///< K, states that an action depends on: the last ones
  int64_t width = 128;   ///< of the layers between
  int64_t layers = 3;    ///< of that width
  double dropout = 0.1;  ///< after each ReLU
};

/// Linear maps with ReLU and dropout between them, then tanh.
class BehaviourCloningImpl : public torch::nn::Cloneable<BehaviourCloningImpl> {
 public:
  /// Throws Error for sizes that make no sense.
  explicit BehaviourCloningImpl(CloningOptions options);

  /// states: [B, N, S], normalised, in order -> [B, N, A] in (-1, 1). Each action is from the K states that end with
  /// its own; before the first of the window they are 0. padding: [B, N] bool, true = no step, which leaves no trace
  torch::Tensor forward(const torch::Tensor& states, const std::optional<torch::Tensor>& padding = {});

  void reset() override;
  const CloningOptions& options() const { return options_; }

  torch::nn::ModuleList maps{nullptr};  ///< options().layers + 1 of them

 private:
  CloningOptions options_;
};
TORCH_MODULE(BehaviourCloning);

}  // namespace primal::models
