#include "models/sequence_classifier.h"

#include <ATen/ATen.h>

#include <cmath>

#include "ops/dropout.h"
#include "primal/error.h"

namespace primal::models {

namespace {

int64_t width_of(const SequenceClassifierOptions& options) {
  if (options.layers.empty()) throw Error("sequence_classifier: at least one layer is needed");
  return options.layers.front().attention.width;
}

// Each step with those around it, zeros beyond the ends. x: [B, N, C] -> [B, N, C kernel]
torch::Tensor neighbourhoods(const torch::Tensor& x, int64_t kernel) {
  if (kernel == 1) return x;
  const int64_t side = (kernel - 1) / 2;
  return at::constant_pad_nd(x, {0, 0, side, side}, 0).unfold(1, kernel, 1).flatten(2);
}

}  // namespace

SequenceClassifierImpl::SequenceClassifierImpl(SequenceClassifierOptions options) : options_(std::move(options)) {
  for (const auto& [name, value] :
       {std::pair{"channels", options_.channels}, {"outputs", options_.outputs}, {"tokens", options_.tokens}}) {
    if (value < 1) throw Error(c10::str("sequence_classifier: ", name, " must be at least 1, got ", value));
  }
  if (options_.kernel < 1 || options_.kernel % 2 == 0) {
    throw Error(c10::str("sequence_classifier: kernel must be odd and positive, got ", options_.kernel));
  }
  reset();
}

void SequenceClassifierImpl::reset() {
  const int64_t width = width_of(options_);
  embedding = register_module("embedding", torch::nn::Linear(options_.channels * options_.kernel, width));
  // The published range of the learnable positions.
  positions = register_parameter("positions", torch::empty({options_.tokens, width}).uniform_(-0.02, 0.02));
  if (options_.time == TimeInput::bochner) {
    time = register_module("time", nn::TimeEncoding(nn::TimeEncodingOptions{.width = width}));
  }
  encoder = register_module("encoder", nn::Encoder(options_.layers));
  const int64_t features = options_.pooling == Pooling::flatten ? options_.tokens * width : width;
  head = register_module("head", torch::nn::Linear(features, options_.outputs));
}

torch::Tensor SequenceClassifierImpl::pooled(const torch::Tensor& features, const torch::Tensor& padding) const {
  const torch::Tensor real = features.masked_fill(padding.unsqueeze(-1), 0);
  if (options_.pooling == Pooling::flatten) return real.flatten(1);
  return real.sum(1) / padding.logical_not().sum(1, /*keepdim=*/true).clamp_min(1);
}

torch::Tensor SequenceClassifierImpl::embedded(const SeriesBatch& batch) {
  const int64_t tokens = batch.x.size(1);
  const bool fits = options_.pooling == Pooling::flatten ? tokens == options_.tokens : tokens <= options_.tokens;
  if (!fits) {
    throw Error(c10::str("sequence_classifier: the sequences have ", tokens, " tokens, the model ", options_.tokens));
  }
  const double scale = std::sqrt(static_cast<double>(positions.size(1)));
  torch::Tensor h = embedding(neighbourhoods(batch.x, options_.kernel)) * scale + positions.narrow(0, 0, tokens);
  if (!time.is_empty()) {
    const auto order = [&] { return torch::arange(tokens, positions.options()).expand({batch.x.size(0), tokens}); };
    h = h + scale * time(batch.times ? *batch.times : order());
  }
  return ops::dropout(h, options_.dropout, is_training());
}

// The head drops padded tokens.
nn::EncoderMasks SequenceClassifierImpl::encoder_masks(const SeriesBatch& batch) const {
  return {options_.padding == Padding::respect ? std::optional(batch.padding) : std::nullopt, batch.padding};
}

// What stands in padded steps must not reach a product, where it has no effect: not even NaN.
SeriesBatch SequenceClassifierImpl::cleared(SeriesBatch batch) const {
  if (options_.padding != Padding::respect) return batch;
  batch.x = batch.x.masked_fill(batch.padding.unsqueeze(-1), 0);
  if (batch.times) batch.times = batch.times->masked_fill(batch.padding, 0);
  return batch;
}

Classification SequenceClassifierImpl::forward(const SeriesBatch& series) {
  const SeriesBatch batch = cleared(series);
  auto [features, terms] = encoder(embedded(batch), encoder_masks(batch));
  features = ops::dropout(at::gelu(features), options_.dropout, is_training());
  return {head(pooled(features, batch.padding)), terms};
}

}  // namespace primal::models
