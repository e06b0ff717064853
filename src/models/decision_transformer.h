// Decision Transformer: the action that follows the return still wanted, the state, and what was done before.
//
//   DecisionTransformer model(DecisionOptions{.states = 17, .actions = 6, .layers = layers});  // every layer causal
//   auto [actions, states, returns, terms] = model->forward(windows);                          // actions: [B, K, A]
//   auto loss = action_error(actions, windows.actions, windows.padding);
//   DecisionState state = model->initial_state(1);
//   torch::Tensor action = model->step({.returns_to_go = wanted, .states = first}, state);     // [1, A]
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <vector>

#include "nn/encoder.h"

namespace primal::models {

/// How the linear maps inside the encoder begin.
enum class DecisionInit {
  as_layers,  ///< as those of any other encoder
  published,  ///< as in GPT-2: normal with deviation 0.02, biases 0
};

struct DecisionOptions {
  int64_t states = 0;           ///< S, numbers of a state
  int64_t actions = 0;          ///< A, numbers of an action
  int64_t steps = 20;           ///< K, steps of a window; forward() takes windows of any length
  int64_t max_timestep = 1000;  ///< rows of the table of time steps; later steps have the last row
  double dropout = 0;           ///< after the embedding
  bool all_heads = false;       ///< published: states and returns are predicted too, though no loss reads them
  DecisionInit init = DecisionInit::as_layers;
  std::vector<nn::EncoderLayerOptions> layers{};
};

/// Steps of episodes, in order.
struct DecisionWindows {
  torch::Tensor states;         ///< [B, K, S], normalised
  torch::Tensor actions;        ///< [B, K, A]
  torch::Tensor returns_to_go;  ///< [B, K], in units of the scale
  torch::Tensor timesteps;      ///< [B, K] int64, from 0 at the start of an episode
  /// [B, K] bool, true = no step; layers that respect padding feel nothing of it, whatever stands in it, even NaN
  std::optional<torch::Tensor> padding{};
};

struct DecisionOutput {
  torch::Tensor actions;              ///< [B, K, A] in (-1, 1), each from what was known when it was chosen
  torch::Tensor states{}, returns{};  ///< [B, K, S], [B, K] with all_heads, of the step that follows; else undefined
  std::vector<KsvdTerms> terms{};     ///< one per primal layer
};

/// What is known when an action is to be chosen.
struct DecisionStep {
  torch::Tensor returns_to_go;                      ///< [B], in units of the scale
  torch::Tensor states;                             ///< [B, S], normalised
  std::optional<torch::Tensor> previous_actions{};  ///< [B, A], as they were done; only the first step has none
};

/// What the model remembers of the episodes so far. Of primal layers its size does not grow with them.
struct DecisionState {
  nn::EncoderState encoder;
  int64_t timestep = 0;  ///< steps so far, of every episode
};

/// Tokens return, state, action of each step: embed(value) + embed_timestep -> norm -> dropout -> encoder; the action
/// is tanh(predict_action) of the state's token. Nothing of a token depends on later ones.
class DecisionTransformerImpl : public torch::nn::Cloneable<DecisionTransformerImpl> {
 public:
  /// Throws Error for options that do not fit together, and for a layer that is not causal.
  explicit DecisionTransformerImpl(DecisionOptions options);

  DecisionOutput forward(const DecisionWindows& windows);
  /// The action of the last step alone, [B, A]: what the layer on top makes of other tokens is not computed.
  torch::Tensor last_action(const DecisionWindows& windows);

  DecisionState initial_state(int64_t batch) const;
  /// The actions for the next step of every episode, [B, A]; state is moved on. Equal to the full pass over the whole
  /// episode in evaluation mode, whatever the mode. No gradient.
  torch::Tensor step(const DecisionStep& now, DecisionState& state);

  void reset() override;
  const DecisionOptions& options() const { return options_; }
  int64_t width() const { return options_.layers.front().attention.width; }

  torch::nn::Embedding embed_timestep{nullptr};  ///< [max_timestep, D]
  torch::nn::Linear embed_return{nullptr}, embed_state{nullptr}, embed_action{nullptr};
  torch::nn::LayerNorm embed_norm{nullptr};
  nn::Encoder encoder{nullptr};
  torch::nn::Linear predict_action{nullptr};
  torch::nn::Linear predict_state{nullptr}, predict_return{nullptr};  ///< empty unless all_heads

 private:
  void check_windows(const DecisionWindows& windows) const;
  void check_step(const DecisionStep& now, const DecisionState& state) const;
  /// Whether some layer is not told of padding or counts it like any token, as published.
  bool sees_padding() const;
  torch::Tensor embedded(const DecisionWindows& windows);
  nn::EncoderMasks masks_of(const DecisionWindows& windows, bool last_only) const;
  /// What the encoder makes of the tokens of a step, [B, K, 3, D].
  std::pair<torch::Tensor, std::vector<KsvdTerms>> features_of(const DecisionWindows& windows, bool last_only);
  torch::Tensor rows_of(const torch::Tensor& timesteps);

  DecisionOptions options_;
};
TORCH_MODULE(DecisionTransformer);

}  // namespace primal::models
