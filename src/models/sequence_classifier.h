// Classifier of multivariate time series: embedding, encoder, head. With one output it predicts a number.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <vector>

#include "nn/encoder.h"
#include "nn/time_encoding.h"

namespace primal::models {

enum class Pooling {
  flatten,  ///< published: Linear(tokens D -> classes) over all positions; padded ones are zeroed
  mean,     ///< Linear(D -> classes) over the mean of the real tokens
};

enum class TimeInput {
  order,    ///< published: a learnt vector per position
  bochner,  ///< besides, the functional encoding of the time at which each step was taken
};

struct SequenceClassifierOptions {
  int64_t channels = 0;
  int64_t outputs = 0;  ///< classes; 1 for a regression
  int64_t tokens = 0;   ///< longest sequence; inputs are padded to it when pooling is flatten
  int64_t kernel = 1;   ///< steps that a token sees, odd; 1: published, more: a convolution as embedding
  double dropout = 0;   ///< after the embedding and before the head
  Pooling pooling = Pooling::flatten;
  Padding padding = Padding::respect;  ///< ignore: the attention does not get the mask (published)
  TimeInput time = TimeInput::order;
  std::vector<nn::EncoderLayerOptions> layers{};
};

struct Classification {
  torch::Tensor outputs;         ///< [B, outputs]: logits, or the target
  std::vector<KsvdTerms> terms;  ///< one per primal layer
};

/// What the encoder sees of a batch of series.
struct SeriesBatch {
  torch::Tensor x;                       ///< [B, N, channels]; N = tokens for flatten, at most tokens for mean
  torch::Tensor padding;                 ///< [B, N] bool, true = padded
  std::optional<torch::Tensor> times{};  ///< [B, N], in median steps since the start; absent = 0, 1, 2, ...
};

/// embedding(x) sqrt(D) + positions (+ time encoding) -> encoder -> GELU -> pooling -> Linear.
class SequenceClassifierImpl : public torch::nn::Cloneable<SequenceClassifierImpl> {
 public:
  explicit SequenceClassifierImpl(SequenceClassifierOptions options);

  Classification forward(const SeriesBatch& series);
  void reset() override;
  const SequenceClassifierOptions& options() const { return options_; }

  torch::nn::Linear embedding{nullptr}, head{nullptr};
  torch::Tensor positions;         ///< [tokens, D]
  nn::TimeEncoding time{nullptr};  ///< with TimeInput::bochner
  nn::Encoder encoder{nullptr};

 private:
  SeriesBatch cleared(SeriesBatch batch) const;
  torch::Tensor embedded(const SeriesBatch& batch);
  nn::EncoderMasks encoder_masks(const SeriesBatch& batch) const;
  torch::Tensor pooled(const torch::Tensor& features, const torch::Tensor& padding) const;

  SequenceClassifierOptions options_;
};
TORCH_MODULE(SequenceClassifier);

}  // namespace primal::models
