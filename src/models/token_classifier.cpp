#include "models/token_classifier.h"

#include <ATen/ATen.h>

#include <utility>

#include "ops/dropout.h"
#include "primal/error.h"

namespace primal::models {

namespace {

constexpr double kEmbeddingDeviation = 0.02;  // published, of tokens and positions

void check_sizes(const TokenClassifierOptions& o) {
  for (const auto& [name, value] :
       {std::pair{"vocabulary", o.vocabulary}, {"outputs", o.outputs}, {"tokens", o.tokens}, {"hidden", o.hidden}}) {
    if (value < 1) throw Error(c10::str("token_classifier: ", name, " must be at least 1, got ", value));
  }
  if (o.layers.empty()) throw Error("token_classifier: at least one layer is needed");
}

// What stands in the first half and in the second half of the batch, of each pair.
torch::Tensor pair_features(const torch::Tensor& both) {
  const auto halves = both.chunk(2, 0);
  const torch::Tensor &a = halves[0], &b = halves[1];
  return at::cat({a, b, a * b, a - b}, 1);
}

torch::Tensor mean_of_pair(const torch::Tensor& both) { return both.view({2, -1}).mean(0); }

}  // namespace

ClassifierHeadImpl::ClassifierHeadImpl(int64_t inputs, int64_t hidden, int64_t outputs)
    : inputs_(inputs), hidden_(hidden), outputs_(outputs) {
  reset();
}

void ClassifierHeadImpl::reset() {
  linear1 = register_module("linear1", torch::nn::Linear(inputs_, hidden_));
  linear2 = register_module("linear2", torch::nn::Linear(hidden_, outputs_));
}

torch::Tensor ClassifierHeadImpl::forward(const torch::Tensor& x) { return linear2(linear1(x).relu()); }

TokenClassifierImpl::TokenClassifierImpl(TokenClassifierOptions options) : options_(std::move(options)) {
  check_sizes(options_);
  reset();
}

void TokenClassifierImpl::reset() {
  const int64_t width = options_.layers.front().attention.width;
  tokens = register_module("tokens", torch::nn::Embedding(options_.vocabulary, width));
  {
    const torch::NoGradGuard no_grad;
    tokens->weight.normal_(0, kEmbeddingDeviation);
  }
  positions = register_parameter("positions", torch::empty({options_.tokens, width}).normal_(0, kEmbeddingDeviation));
  encoder = register_module("encoder", nn::Encoder(options_.layers));
  head = register_module("head", ClassifierHead(options_.pairs ? 4 * width : width, options_.hidden, options_.outputs));
}

torch::Tensor TokenClassifierImpl::embedded(const torch::Tensor& ids) {
  const int64_t length = ids.size(1);
  if (length > options_.tokens) {
    throw Error(c10::str("token_classifier: the sequences have ", length, " tokens, the model ", options_.tokens));
  }
  return ops::dropout(tokens(ids) + positions.narrow(0, 0, length), options_.dropout, is_training());
}

torch::Tensor TokenClassifierImpl::pooled(const torch::Tensor& features, const torch::Tensor& padding) const {
  // As a product: neither a masked copy of the features nor their gradient is written down besides.
  const torch::Tensor real = padding.logical_not().to(features.dtype());
  const torch::Tensor sum = at::bmm(real.unsqueeze(1), features).squeeze(1);
  if (options_.pooling == TokenPooling::padded_mean) return sum / static_cast<double>(features.size(1));
  return sum / real.sum(1, /*keepdim=*/true).clamp_min(1);
}

Classification TokenClassifierImpl::forward(const TokenBatch& batch) {
  if (options_.pairs && batch.ids.size(0) % 2 != 0) {
    throw Error(c10::str("token_classifier: pairs need an even number of sequences, got ", batch.ids.size(0)));
  }
  // The head drops padded tokens.
  auto [features, terms] = encoder(embedded(batch.ids), nn::EncoderMasks{batch.padding, batch.padding});
  const torch::Tensor means = pooled(features, batch.padding);
  if (!options_.pairs) return {head(means), terms};
  for (KsvdTerms& layer : terms) layer = {mean_of_pair(layer.le), mean_of_pair(layer.lr), mean_of_pair(layer.tr)};
  return {head(pair_features(means)), terms};
}

}  // namespace primal::models
