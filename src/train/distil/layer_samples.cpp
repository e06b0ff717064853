#include "train/distil/layer_samples.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace primal::train {

namespace {

constexpr int64_t kHeldOut = 5;         // one of so many
constexpr int64_t kPieceTokens = 4096;  // of a piece: their features of every head fit into some ten megabytes

LayerSample chosen(const LayerSample& sample, const std::vector<int64_t>& sequences) {
  const at::Tensor index = at::tensor(sequences, at::kLong);
  const auto take = [&](const at::Tensor& values) { return values.index_select(0, index); };
  return {.x = take(sample.x),
          .y = take(sample.y),
          .padding = sample.padding ? std::optional(take(*sample.padding)) : std::nullopt};
}

LayerSample joined(const LayerSample& a, const LayerSample& b) {
  return {.x = at::cat({a.x, b.x}),
          .y = at::cat({a.y, b.y}),
          .padding = a.padding ? std::optional(at::cat({*a.padding, *b.padding})) : std::nullopt};
}

bool fit_together(const LayerSample& a, const LayerSample& b) {
  return a.x.size(1) == b.x.size(1) && a.padding.has_value() == b.padding.has_value() &&
         a.tokens() + b.tokens() <= kPieceTokens;
}

// In pieces of at most kPieceTokens, but at least one sequence.
void put(std::vector<LayerSample>& pieces, const LayerSample& sample, const std::vector<int64_t>& sequences) {
  const int64_t most = std::max<int64_t>(kPieceTokens / std::max<int64_t>(sample.x.size(1), 1), 1);
  for (int64_t first = 0; first < std::ssize(sequences); first += most) {
    const auto begin = sequences.begin() + first;
    const LayerSample piece = chosen(sample, {begin, begin + std::min(most, std::ssize(sequences) - first)});
    if (!pieces.empty() && fit_together(pieces.back(), piece)) {
      pieces.back() = joined(pieces.back(), piece);
    } else {
      pieces.push_back(piece);
    }
  }
}

}  // namespace

at::Tensor real_rows(const LayerSample& sample, const at::Tensor& values) {
  const at::Tensor rows = values.flatten(0, 1);
  if (!sample.padding) return rows;
  return rows.index_select(0, sample.padding->logical_not().flatten().nonzero().squeeze(1));
}

void LayerSamples::add(const LayerSample& sample) {
  std::vector<int64_t> fit, held_out;
  for (int64_t b = 0; b < sample.x.size(0); ++b) {
    (++sequences_ % kHeldOut == 0 ? held_out : fit).push_back(b);
  }
  put(fit_, sample, fit);
  put(held_out_, sample, held_out);
}

}  // namespace primal::train
