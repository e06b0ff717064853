#include "models/language_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/dropout.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "primal/error.h"

namespace primal::models {

namespace {

constexpr int64_t kFirstPosition = 2;  // behind that of padding, id 1
constexpr int64_t kIgnored = -100;

void check_language_options(const LanguageModelOptions& o) {
  if (o.vocabulary < 1) throw Error(c10::str("language_model: vocabulary must be at least 1, got ", o.vocabulary));
  if (o.layers.empty()) throw Error("language_model: at least one layer is needed");
  if (o.padding && (*o.padding < 0 || *o.padding >= o.vocabulary)) {
    throw Error(c10::str("language_model: padding is id ", *o.padding, " of ", o.vocabulary));
  }
  if (o.positions == Positions::learnt && o.tokens < 1) {
    throw Error(c10::str("language_model: learnt positions need the length of a block, got ", o.tokens));
  }
  check(o.adaptive, o.vocabulary, o.layers.front().attention.width);
  if (!o.adaptive.cutoffs.empty() && o.padding && *o.padding >= o.adaptive.cutoffs.front()) {
    throw Error(
        c10::str("language_model: padding is id ", *o.padding, ", the first cutoff ", o.adaptive.cutoffs.front()));
  }
  for (const nn::EncoderLayerOptions& layer : o.layers) {
    if (!layer.attention.causal) throw Error("language_model: every layer must be causal");
  }
}

// Uniform within gain sqrt(6 / (rows + columns)).
void begin_with_xavier(const torch::nn::Module& encoder) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : encoder.named_parameters()) {
    const auto is = [&](const char* name) { return item.key().ends_with(name); };
    torch::Tensor value = item.value();
    const bool is_input = is("q_proj.weight") || is("k_proj.weight") || is("v_proj.weight");
    if (is_input || is("out_proj.weight")) {
      const double most = std::sqrt((is_input ? 3.0 : 6.0) / static_cast<double>(value.size(0) + value.size(1)));
      value.uniform_(-most, most);
    } else if (is("out_proj.bias")) {
      value.zero_();
    }
  }
}

}  // namespace

torch::Tensor sinusoids(int64_t first, int64_t count, int64_t width, const torch::TensorOptions& options) {
  const int64_t half = width / 2;
  const auto precise = options.dtype(torch::kFloat64);
  const double step = std::log(10000.0) / static_cast<double>(std::max<int64_t>(half - 1, 1));
  const torch::Tensor frequencies = at::exp(at::arange(half, precise) * -step);
  const torch::Tensor angles =
      at::outer(at::arange(first + kFirstPosition, first + count + kFirstPosition, precise), frequencies);
  std::vector<torch::Tensor> parts{angles.sin(), angles.cos()};
  if (width % 2 != 0) parts.push_back(at::zeros({count, 1}, precise));
  return at::cat(parts, 1).to(options.dtype());
}

LanguageModelImpl::LanguageModelImpl(LanguageModelOptions options) : options_(std::move(options)) {
  check_language_options(options_);
  reset();
}

void LanguageModelImpl::reset() {
  const AdaptiveOptions& adaptive = options_.adaptive;
  const int64_t frequent = adaptive.cutoffs.empty() ? options_.vocabulary : adaptive.cutoffs.front();
  tokens = register_module("tokens", torch::nn::Embedding(frequent, width()));
  {
    const torch::NoGradGuard no_grad;
    const double deviation = 1 / std::sqrt(static_cast<double>(width()));
    tokens->weight.normal_(0, deviation);
    if (options_.padding) tokens->weight[*options_.padding].zero_();
    if (options_.positions == Positions::learnt) {
      positions = register_parameter("positions", torch::empty({options_.tokens, width()}).normal_(0, deviation));
    }
  }
  if (!adaptive.cutoffs.empty()) {
    tails = register_module("tails", AdaptiveTails(adaptive, options_.vocabulary, width()));
  }
  encoder = register_module("encoder", nn::Encoder(options_.layers));
  if (options_.attention_init == AttentionInit::xavier) begin_with_xavier(*encoder);
}

void LanguageModelImpl::check_ids(const torch::Tensor& ids) const {
  if (ids.dim() != 2 || ids.scalar_type() != torch::kInt64) {
    throw Error(c10::str("language_model: expected ids [B, N] int64, got ", ids.sizes(), " ", ids.scalar_type()));
  }
}

torch::Tensor LanguageModelImpl::scaled(const torch::Tensor& ids) const {
  const int64_t padding = options_.padding.value_or(-1);
  const torch::Tensor rows =
      tails ? tails->embedded(ids.reshape({-1}), tokens->weight, padding).view({ids.size(0), ids.size(1), width()})
            : at::embedding(tokens->weight, ids, padding);
  return rows * std::sqrt(static_cast<double>(width()));
}

torch::Tensor LanguageModelImpl::positions_from(int64_t first, int64_t count) const {
  if (options_.positions == Positions::sinusoidal) return sinusoids(first, count, width(), tokens->weight.options());
  if (first + count > options_.tokens) {
    throw Error(
        c10::str("language_model: positions are learnt for ", options_.tokens, " tokens, asked for ", first + count));
  }
  return positions.narrow(0, first, count);
}

torch::Tensor LanguageModelImpl::embedded(const torch::Tensor& ids, const std::optional<torch::Tensor>& padding) const {
  torch::Tensor x = scaled(ids);
  if (options_.positions == Positions::none || ids.numel() == 0) return x;
  torch::Tensor places = positions_from(0, ids.size(1));
  if (padding) {  // the j-th token that is not padding has position j, padding has none
    const torch::Tensor real = padding->logical_not();
    places = places.index({(real.cumsum(1) - 1).clamp_min(0)}) * real.unsqueeze(-1).to(places.dtype());
  }
  return x + places;
}

nn::EncoderOutput LanguageModelImpl::forward(const torch::Tensor& ids) {
  check_ids(ids);
  std::optional<torch::Tensor> padding;
  if (options_.padding) {
    padding = ids.eq(*options_.padding);
    if (!padding->any().item<bool>()) padding.reset();  // then layers may take the way without masks
  }
  return encoder(ops::dropout(embedded(ids, padding), options_.dropout, is_training()),
                 nn::EncoderMasks{.padding = padding});
}

torch::Tensor LanguageModelImpl::logits(const torch::Tensor& features) const {
  return tails ? tails->log_probabilities(features, tokens->weight) : at::linear(features, tokens->weight);
}

LanguageLoss LanguageModelImpl::loss(const torch::Tensor& features, const torch::Tensor& targets,
                                     double label_smoothing) const {
  const torch::Tensor hidden = features.reshape({-1, width()}), wanted = targets.reshape({-1});
  const int64_t ignored = options_.padding.value_or(kIgnored);
  if (tails) {
    if (label_smoothing != 0) throw Error("language_model: an adaptive vocabulary knows no label smoothing");
    const auto [sum, nll] = tails->loss(hidden, wanted, tokens->weight, ignored);
    return {sum, nll.view(targets.sizes())};
  }
  const auto [sum, nll] = ops::linear_cross_entropy({.hidden = hidden,
                                                     .weight = tokens->weight,
                                                     .targets = wanted,
                                                     .ignore_index = ignored,
                                                     .label_smoothing = label_smoothing});
  return {sum, nll.view(targets.sizes())};
}

std::optional<int64_t> LanguageModelImpl::most_tokens() const {
  const std::optional<int64_t> of_layers = encoder->most_tokens();
  if (options_.positions != Positions::learnt) return of_layers;
  return std::min(options_.tokens, of_layers.value_or(options_.tokens));
}

LanguageState LanguageModelImpl::initial_state(int64_t batch) const { return {encoder->initial_state(batch)}; }

torch::Tensor LanguageModelImpl::step(const torch::Tensor& ids, LanguageState& state) {
  check_ids(ids);
  const torch::NoGradGuard no_grad;
  torch::Tensor x = scaled(ids);
  if (options_.positions != Positions::none) x = x + positions_from(state.position, ids.size(1));
  torch::Tensor features = encoder->step(x, state.encoder);
  state.position += ids.size(1);
  return features;
}

}  // namespace primal::models
