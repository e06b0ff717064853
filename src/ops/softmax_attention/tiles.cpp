#include "ops/softmax_attention/tiles.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "kernels/dropout.h"
#include "ops/recycled_memory.h"

namespace primal::ops::softmax {

namespace {

template <typename Hidden>
Range without_ends(Range range, const Hidden& is_hidden) {
  while (range.size() > 0 && is_hidden(range.end - 1)) --range.end;
  while (range.size() > 0 && is_hidden(range.begin)) ++range.begin;
  return range;
}

// The rows of the range; copies with zeros if some of them are hidden.
template <typename Hidden>
Rows without(Rows rows, Range range, int64_t width, float* space, const Hidden& is_hidden) {
  bool any = false;
  for (int64_t i = range.begin; i < range.end && !any; ++i) any = is_hidden(i);
  if (!any) return {rows.at(range.begin), rows.stride};
  for (int64_t i = range.begin; i < range.end; ++i) {
    float* to = space + (i - range.begin) * width;
    if (is_hidden(i)) {
      std::fill_n(to, width, 0.0F);
    } else {
      std::copy_n(rows.at(i), width, to);
    }
  }
  return {space, width};
}

}  // namespace

at::Tensor heads_beside_each_other(const at::Tensor& x) {
  const at::AutoDispatchBelowADInplaceOrView guard;  // the transpose is no view of anything
  const std::array<int64_t, 4> sizes{x.size(0), x.size(2), x.size(1), x.size(3)};
  return recycled_tensor(sizes, at::kFloat).transpose(1, 2);
}

SoftmaxCall::SoftmaxCall(const SoftmaxAttention& a, uint64_t seed)
    : sequences(a.q.size(0)),
      heads(a.q.size(1)),
      queries(a.q.size(2)),
      keys(a.k.size(2)),
      width(a.q.size(3)),
      scale(static_cast<float>(1 / std::sqrt(static_cast<double>(width)))),
      reach_(a.reach),
      padding_(a.padding ? a.padding->const_data_ptr<bool>() : nullptr),
      padded_score_(static_cast<float>(a.padded_score)),
      hides_(a.padding && std::isinf(a.padded_score)),
      seed_(seed),
      threshold_(static_cast<uint32_t>(std::min(std::lround(a.dropout * 4294967296.0), 4294967295L))),
      kept_scale_(static_cast<float>(1 / (1 - a.dropout))) {}

Range SoftmaxCall::counted_keys(int64_t sequence) const {
  return without_ends({0, keys}, [&](int64_t key) { return hides_ && is_padded(sequence, key); });
}

Range SoftmaxCall::counted_queries(int64_t sequence) const {
  return without_ends({0, queries}, [&](int64_t query) { return is_hidden(sequence, query); });
}

const float* SoftmaxCall::added_to_scores(int64_t sequence, Range of_keys, float* space) const {
  bool any = false;
  for (int64_t j = of_keys.begin; j < of_keys.end; ++j) {
    const bool padded = is_padded(sequence, j);
    space[j - of_keys.begin] = padded ? padded_score_ : 0;
    any = any || padded;
  }
  return any ? space : nullptr;
}

Rows SoftmaxCall::without_hidden_keys(Rows rows, int64_t sequence, Range of_keys, float* space) const {
  return without(rows, of_keys, width, space, [&](int64_t key) { return hides_ && is_padded(sequence, key); });
}

Rows SoftmaxCall::without_hidden_queries(Rows rows, int64_t sequence, Range of_queries, float* space) const {
  return without(rows, of_queries, width, space, [&](int64_t query) { return is_hidden(sequence, query); });
}

void SoftmaxCall::drop(const float* weights, float* kept, int64_t count, int64_t sequence, int64_t head, int64_t query,
                       int64_t first) const {
  const int64_t row = (sequence * heads + head) * queries + query;
  kernels::dropout(weights, kept, count, seed_, row * keys + first, threshold_, kept_scale_);
}

}  // namespace primal::ops::softmax
