// Classifier of token sequences, or of pairs of them: embedding, encoder, mean over the tokens, a head of two maps.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <vector>

#include "models/sequence_classifier.h"
#include "nn/encoder.h"

namespace primal::models {

enum class TokenPooling {
  mean,         ///< over the real tokens
  padded_mean,  ///< published: their sum divided by the padded length
};

struct TokenClassifierOptions {
  int64_t vocabulary = 0;  ///< ids; 0 is padding
  int64_t outputs = 0;     ///< classes
  int64_t tokens = 0;      ///< longest sequence
  int64_t hidden = 0;      ///< width between the two maps of the head
  bool pairs = false;      ///< an example is two sequences, judged together
  double dropout = 0;      ///< after the embedding
  TokenPooling pooling = TokenPooling::mean;
  std::vector<nn::EncoderLayerOptions> layers{};
};

/// What the model sees of some examples. Of pairs the first sequences come first, then all the second ones: [2 B, N].
struct TokenBatch {
  torch::Tensor ids;      ///< [B, N] int64
  torch::Tensor padding;  ///< [B, N] bool, true = padded
};

/// ReLU between two linear maps.
class ClassifierHeadImpl : public torch::nn::Cloneable<ClassifierHeadImpl> {
 public:
  ClassifierHeadImpl(int64_t inputs, int64_t hidden, int64_t outputs);
  torch::Tensor forward(const torch::Tensor& x);
  void reset() override;

  torch::nn::Linear linear1{nullptr}, linear2{nullptr};

 private:
  int64_t inputs_, hidden_, outputs_;
};
TORCH_MODULE(ClassifierHead);

/// tokens(id) + positions -> encoder -> pooling -> head; of a pair a, b the head sees [a, b, a * b, a - b].
class TokenClassifierImpl : public torch::nn::Cloneable<TokenClassifierImpl> {
 public:
  explicit TokenClassifierImpl(TokenClassifierOptions options);

  /// The KSVD terms of a pair are the means of those of its two sequences.
  Classification forward(const TokenBatch& batch);
  void reset() override;
  const TokenClassifierOptions& options() const { return options_; }

  torch::nn::Embedding tokens{nullptr};
  torch::Tensor positions;  ///< [tokens, D]
  nn::Encoder encoder{nullptr};
  ClassifierHead head{nullptr};

 private:
  torch::Tensor embedded(const torch::Tensor& ids);
  torch::Tensor pooled(const torch::Tensor& features, const torch::Tensor& padding) const;

  TokenClassifierOptions options_;
};
TORCH_MODULE(TokenClassifier);

}  // namespace primal::models
