// What both passes of softmax attention know of their tiles: which keys a query sees, where rows lie, what is padded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/matrix_product.h"
#include "ops/fused/tile_space.h"
#include "ops/fused/tiles.h"
#include "ops/softmax_attention/arguments.h"

namespace primal::ops::softmax {

using fused::Range;

// The scores of a tile take 96 KiB of L2; the backward pass has two such blocks, and a third if it drops weights.
constexpr int64_t kQueries = 96, kKeys = 256;

inline Range intersection(Range a, Range b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// for_each_part({0, 10}, 4, body) calls body({0, 4}), body({4, 8}), body({8, 10}).
template <typename Body>
void for_each_part(Range all, int64_t most, const Body& body) {
  for (int64_t i = all.begin; i < all.end; i += most) body(Range{i, std::min(all.end, i + most)});
}

/// The rows of one head of one sequence.
template <typename T>
struct RowsOf {
  T* data;
  int64_t stride;

  T* at(int64_t i) const { return data + i * stride; }
};
using Rows = RowsOf<const float>;
using WrittenRows = RowsOf<float>;

inline Rows rows_of(const at::Tensor& x, int64_t sequence, int64_t head) {
  return {x.const_data_ptr<float>() + sequence * x.stride(0) + head * x.stride(1), x.stride(2)};
}
inline WrittenRows written_rows_of(const at::Tensor& x, int64_t sequence, int64_t head) {
  return {x.mutable_data_ptr<float>() + sequence * x.stride(0) + head * x.stride(1), x.stride(2)};
}

/// Of the sizes of x, [B, H, N, d], without values; a token's heads are neighbours in memory.
at::Tensor heads_beside_each_other(const at::Tensor& x);

/// x = 0 but for these of its numbers.
inline void clear_outside(float* x, int64_t count, Range kept) {
  std::fill_n(x, kept.begin, 0.0F);
  std::fill(x + kept.end, x + count, 0.0F);
}

/// The sizes of a call, who sees what in it, and which weights it drops.
class SoftmaxCall {
 public:
  SoftmaxCall(const SoftmaxAttention& a, uint64_t seed);

  int64_t sequences, heads, queries, keys, width;
  float scale;  ///< of the products of queries and keys

  /// Of the keys that a query sees, padded ones among them.
  Range seen_by(int64_t query) const {
    const int64_t place = query + keys - queries;
    return {std::clamp<int64_t>(place - reach_.behind, 0, keys),
            std::clamp<int64_t>(place + reach_.ahead + 1, 0, keys)};
  }
  Range seen_by(Range of_queries) const { return {seen_by(of_queries.begin).begin, seen_by(of_queries.end - 1).end}; }
  /// Those of a block that a query sees, counted from the first of the block; none for a hidden query.
  Range seen_in(Range block, int64_t sequence, int64_t query) const {
    if (is_hidden(sequence, query)) return {0, 0};
    const Range seen = intersection(seen_by(query), block);
    if (seen.size() == 0) return {0, 0};
    return {seen.begin - block.begin, seen.end - block.begin};
  }

  /// Units of parallel work, each of so many queries, that are worth another thread.
  int64_t grain(int64_t queries_of_unit) const {
    constexpr int64_t kWork = 1 << 16;  // products
    return std::max<int64_t>(1, kWork / std::max<int64_t>(1, queries_of_unit * keys * width));
  }

  bool is_padded(int64_t sequence, int64_t key) const { return padding_ != nullptr && padding_[sequence * keys + key]; }
  /// Whether a query gets 0 because it is padded.
  bool is_hidden(int64_t sequence, int64_t query) const {
    const int64_t place = query + keys - queries;
    return hides_ && place >= 0 && is_padded(sequence, place);
  }
  /// From the first that is not hidden to the last.
  Range counted_keys(int64_t sequence) const;
  Range counted_queries(int64_t sequence) const;

  /// What is added to the scores of each of these keys, or null: nothing.
  const float* added_to_scores(int64_t sequence, Range of_keys, float* space) const;

  /// These rows, with zeros for those that are hidden; space: as many, dense.
  Rows without_hidden_keys(Rows rows, int64_t sequence, Range of_keys, float* space) const;
  Rows without_hidden_queries(Rows rows, int64_t sequence, Range of_queries, float* space) const;

  bool drops() const { return threshold_ > 0; }
  /// kept = dropout(weights) of the keys from `first` on, for one query. May be in place.
  void drop(const float* weights, float* kept, int64_t count, int64_t sequence, int64_t head, int64_t query,
            int64_t first) const;

 private:
  SoftmaxReach reach_;
  const bool* padding_;
  float padded_score_;
  bool hides_;  // padded tokens leave no trace
  uint64_t seed_;
  uint32_t threshold_;
  float kept_scale_;
};

}  // namespace primal::ops::softmax
