// Classifier of multivariate time series: embedding, encoder, head.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "nn/encoder.h"

namespace primal::models {

enum class Pooling {
  flatten,  ///< published: Linear(tokens D -> classes) over all positions; padded ones are zeroed
  mean,     ///< Linear(D -> classes) over the mean of the real tokens
};

struct SequenceClassifierOptions {
  int64_t channels = 0;
  int64_t classes = 0;
  int64_t tokens = 0;  ///< longest sequence; inputs are padded to it when pooling is flatten
  double dropout = 0;  ///< after the embedding and before the head
  Pooling pooling = Pooling::flatten;
  Padding padding = Padding::respect;  ///< ignore: the attention does not get the mask (published)
  std::vector<nn::EncoderLayerOptions> layers;
};

struct Classification {
  torch::Tensor logits;          ///< [B, classes]
  std::vector<KsvdTerms> terms;  ///< one per primal layer
};

/// x sqrt(D) + positions -> encoder -> GELU -> pooling -> Linear.
class SequenceClassifierImpl : public torch::nn::Cloneable<SequenceClassifierImpl> {
 public:
  explicit SequenceClassifierImpl(SequenceClassifierOptions options);

  /// x: [B, N, channels], padding: [B, N] bool, true = padded. N = tokens for flatten, at most tokens for mean.
  Classification forward(const torch::Tensor& x, const torch::Tensor& padding);
  void reset() override;
  const SequenceClassifierOptions& options() const { return options_; }

  torch::nn::Linear embedding{nullptr}, head{nullptr};
  torch::Tensor positions;  ///< [tokens, D]
  nn::Encoder encoder{nullptr};

 private:
  torch::Tensor pooled(const torch::Tensor& features, const torch::Tensor& padding) const;

  SequenceClassifierOptions options_;
};
TORCH_MODULE(SequenceClassifier);

}  // namespace primal::models
