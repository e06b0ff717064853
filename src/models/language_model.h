// Causal language model: what comes next, after every token. Embedding, positions, a causal encoder, tied output.
//
//   LanguageModel model(LanguageModelOptions{.vocabulary = 257, .layers = layers});   // every layer causal
//   auto [features, terms] = model->forward(ids);                                     // [B, N] -> [B, N, D]
//   auto loss = model->loss(features, targets).sum / targets.numel();
//   LanguageState state = model->initial_state(1);
//   torch::Tensor next = model->logits(model->step(ids, state).select(1, -1));        // [1, V]
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <vector>

#include "models/adaptive_tails.h"
#include "nn/encoder.h"

namespace primal::models {

enum class Positions {
  sinusoidal,  ///< published: first half sines, second half cosines; any length
  learnt,      ///< a table of LanguageModelOptions::tokens rows
  none,
};

/// How the projections of the attentions begin.
enum class AttentionInit {
  as_layers,  ///< as those of any other layer
  xavier,     ///< published: q, k and v with gain 1/sqrt(2); the output with gain 1, its bias 0
};

struct LanguageModelOptions {
  int64_t vocabulary = 0;            ///< V
  int64_t tokens = 0;                ///< of a block, as many as learnt positions have rows
  std::optional<int64_t> padding{};  ///< an id that stands for no token
  Positions positions = Positions::sinusoidal;
  double dropout = 0;  ///< after the embedding
  AttentionInit attention_init = AttentionInit::as_layers;
  AdaptiveOptions adaptive{};
  std::vector<nn::EncoderLayerOptions> layers{};
};

/// Over the targets that are not padding.
struct LanguageLoss {
  torch::Tensor sum;  ///< scalar, of -log p(target)
  torch::Tensor nll;  ///< [B, N] -log p(target), 0 for padding; without gradient
};

/// What the model remembers of the tokens that it has stepped over.
struct LanguageState {
  nn::EncoderState encoder;
  int64_t position = 0;  ///< tokens so far, of every sequence
};

/// x = sqrt(D) tokens(id) + position -> dropout -> encoder; logits = x tokens^T. Nothing of a token depends on later
/// ones.
class LanguageModelImpl : public torch::nn::Cloneable<LanguageModelImpl> {
 public:
  /// Throws Error for options that do not fit together, and for a layer that is not causal.
  explicit LanguageModelImpl(LanguageModelOptions options);

  /// ids: [B, N] int64 -> features of every token, from which the next is predicted
  nn::EncoderOutput forward(const torch::Tensor& ids);
  /// features: [.., D] -> [.., V]; with an adaptive vocabulary log-probabilities, which are logits too
  torch::Tensor logits(const torch::Tensor& features) const;
  /// targets: [B, N] int64; the logits are never held as a whole.
  LanguageLoss loss(const torch::Tensor& features, const torch::Tensor& targets, double label_smoothing = 0) const;

  LanguageState initial_state(int64_t batch) const;
  /// The next tokens, [B, T] -> features [B, T, D]; state is moved on. Equal to the full pass in evaluation mode,
  /// whatever the mode. No gradient; none of them may be padding.
  torch::Tensor step(const torch::Tensor& ids, LanguageState& state);

  /// Tokens that a sequence may have while it is decoded, which learnt positions and some kinds of attention limit;
  /// nothing: any number.
  std::optional<int64_t> most_tokens() const;

  void reset() override;
  const LanguageModelOptions& options() const { return options_; }
  int64_t width() const { return options_.layers.front().attention.width; }

  torch::nn::Embedding tokens{nullptr};  ///< [V, D]; of an adaptive vocabulary the frequent ids only
  AdaptiveTails tails{nullptr};          ///< of an adaptive vocabulary the others; else empty
  torch::Tensor positions;               ///< [tokens, D] if they are learnt; else undefined
  nn::Encoder encoder{nullptr};

 private:
  void check_ids(const torch::Tensor& ids) const;
  torch::Tensor scaled(const torch::Tensor& ids) const;
  /// Of tokens first, first + 1, ..: [count, D]
  torch::Tensor positions_from(int64_t first, int64_t count) const;
  torch::Tensor embedded(const torch::Tensor& ids, const std::optional<torch::Tensor>& padding) const;

  LanguageModelOptions options_;
};
TORCH_MODULE(LanguageModel);

/// Rows of sin(p w_k), then cos(p w_k), with w_k = exp(-k ln(10000) / (D/2 - 1)) for p = first + 2, first + 3, ..; an
/// odd width ends with a zero. As in fairseq, where the first two positions are those of padding. -> [count, width]
torch::Tensor sinusoids(int64_t first, int64_t count, int64_t width, const torch::TensorOptions& options);

}  // namespace primal::models
