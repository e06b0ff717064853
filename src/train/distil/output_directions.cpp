#include "train/distil/output_directions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/distil/output_fit.h"

namespace primal::train {

namespace {

using at::Tensor;

constexpr int64_t kTimes = 4;            // as many pairs as the layer has
constexpr int64_t kMostFeatures = 2048;  // of all heads together: their squares are summed over all tokens

// The same layer with more pairs.
PrimalAttention wider(const PrimalAttentionImpl& layer, const ScoreGrams& grams) {
  const at::NoGradGuard no_grad;
  PrimalAttentionOptions options = layer.options();
  const int64_t pairs = std::min({kTimes * options.rank, grams.a.size(-1), kMostFeatures / (2 * options.heads)});
  options.rank = std::max(pairs, options.rank);
  PrimalAttention wide(options);
  wide->to(layer.we.scalar_type());
  for (const auto& [own, other] : {std::pair{wide->q_proj, layer.q_proj}, std::pair{wide->k_proj, layer.k_proj}}) {
    own->weight.copy_(other->weight);
    if (own->bias.defined()) own->bias.copy_(other->bias);
  }
  if (layer.log_scale.defined()) wide->log_scale.copy_(layer.log_scale);
  put_kernel_pairs(*wide, grams);
  return wide;
}

// gram: [k, k] of the scores, weights: [k, D]. -> [k, s]: of which scores the outputs need most
Tensor needed(const Tensor& gram, const Tensor& weights, int64_t s) {
  const auto [values, vectors] = at::linalg_eigh(gram);
  const Tensor root = values.clamp_min(0).sqrt();
  const Tensor inverse = at::where(root > 1e-7 * root.max(), root.reciprocal(), at::zeros_like(root));
  const Tensor outputs = at::mm((vectors * root).t(), weights);
  const Tensor left = std::get<0>(at::linalg_svd(outputs, /*full_matrices=*/false));
  const Tensor found = at::mm(vectors * inverse, left.narrow(1, 0, std::min(s, left.size(1))));
  return at::constant_pad_nd(found, {0, s - found.size(1)});
}

}  // namespace

OutputDirections::OutputDirections(PrimalAttentionImpl& layer, ScoreGrams grams,
                                   const std::vector<LayerSample>& samples)
    : grams_(std::move(grams)), wide_(wider(layer, grams_)), sums_(score_sums(*wide_, samples)) {}

void OutputDirections::put(PrimalAttentionImpl& layer, double ridge) const {
  const at::NoGradGuard no_grad;
  const int64_t heads = layer.options().heads, s = layer.options().rank, wide_s = wide_->options().rank;
  const int64_t k = wide_->score_proj->weight.size(1);
  const Tensor gram = sums_.gram().view({heads, k, heads, k}), weights = sums_.solve(ridge).view({heads, k, -1});
  const double length = 1 / std::sqrt(static_cast<double>(s));
  const auto put = [&](Tensor& own, const Tensor& pairs, int64_t head, int64_t first) {
    const Tensor block = gram[head].select(1, head).narrow(0, first, wide_s).narrow(1, first, wide_s);
    const Tensor found = at::mm(pairs[head].to(at::kDouble), needed(block, weights[head].narrow(0, first, wide_s), s));
    const Tensor size = found.square().sum(0, /*keepdim=*/true).sqrt();
    own[head].copy_(at::where(size > 0, found * (length / size), own[head].to(at::kDouble)));
  };
  const Projections made_of = layer.options().projections;
  for (int64_t h = 0; h < heads; ++h) {
    if (made_of != Projections::left) put(layer.we, wide_->we, h, 0);
    if (made_of != Projections::right) put(layer.wr, wide_->wr, h, made_of == Projections::both ? wide_s : 0);
  }
  // The sign of a score is free: that one which lets the pair have a Lambda.
  layer.wr.mul_(at::where((layer.we * layer.wr).sum(1, /*keepdim=*/true) < 0, -1.0, 1.0));
  put_lambda(layer, grams_);
}

}  // namespace primal::train
