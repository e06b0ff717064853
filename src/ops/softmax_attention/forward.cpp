#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "kernels/cpu_target.h"
#include "kernels/softmax_row.h"
#include "ops/softmax_attention/pass.h"
#include "ops/softmax_attention/tiles.h"

namespace primal::ops {

namespace {

using namespace softmax;

// Queries of a unit of parallel work: packing the keys once for so many costs next to nothing.
constexpr int64_t kQueriesOfUnit = 8 * kQueries;

// A few hundred queries of one head, which read all keys that they see.
class ForwardUnit {
 public:
  ForwardUnit(const SoftmaxCall& call, const SoftmaxAttention& a, int64_t sequence, int64_t head, Range queries)
      : call_(call),
        sequence_(sequence),
        head_(head),
        queries_(queries),
        q_(rows_of(a.q, sequence, head)),
        k_(rows_of(a.k, sequence, head)),
        v_(rows_of(a.v, sequence, head)) {}

  void run(WrittenRows out, float* sums) {
    out_ = out;
    for (int64_t i = queries_.begin; i < queries_.end; ++i) std::fill_n(out.at(i), call_.width, 0.0F);
    std::fill_n(largest_, queries_.size(), -std::numeric_limits<double>::infinity());
    std::fill_n(total_, queries_.size(), 0.0);
    const Range counted = intersection(queries_, call_.counted_queries(sequence_));
    if (counted.size() > 0) {
      const Range keys = intersection(call_.seen_by(counted), call_.counted_keys(sequence_));
      for_each_part(keys, kKeys, [&](Range block) { block_of_keys(block, counted); });
    }
    for (int64_t i = queries_.begin; i < queries_.end; ++i) {
      const int64_t own = i - queries_.begin;
      const bool sees = total_[own] != 0;  // also if it is NaN
      if (sees) kernels::scale_and_shift(out.at(i), call_.width, static_cast<float>(1 / total_[own]), 0);
      sums[2 * i] = sees ? static_cast<float>(largest_[own]) : 0;
      sums[2 * i + 1] = sees ? static_cast<float>(std::log(total_[own])) : std::numeric_limits<float>::infinity();
    }
  }

 private:
  void block_of_keys(Range block, Range queries) {
    fused::TileSpace space;
    const int64_t count = block.size(), width = call_.width;
    const Rows k = call_.without_hidden_keys(k_, sequence_, block, space.take(count, width));
    const Rows v = call_.without_hidden_keys(v_, sequence_, block, space.take(count, width));
    float* packed_k = space.take(1, kernels::packed_size(width, count));
    float* packed_v = space.take(1, kernels::packed_size(count, width));
    kernels::pack({k.data, 1, k.stride}, width, count, packed_k);
    kernels::pack({v.data, v.stride, 1}, count, width, packed_v);
    const float* added = call_.added_to_scores(sequence_, block, space.take(1, count));
    float* scores = space.take(kQueries, count);
    float* share = space.take(1, kQueries);
    for_each_part(queries, kQueries, [&](Range tile) {
      if (intersection(call_.seen_by(tile), block).size() == 0) return;
      kernels::multiply(
          {q_.at(tile.begin), q_.stride}, packed_k, {tile.size(), count, width},
          {.data = scores, .row_stride = count, .bias = added, .row_scale = &call_.scale, .row_scale_stride = 0});
      for (int64_t i = tile.begin; i < tile.end; ++i) {
        share[i - tile.begin] = weigh(scores + (i - tile.begin) * count, block, added != nullptr, i);
      }
      kernels::multiply({scores, count}, packed_v, {tile.size(), width, count},
                        {.data = out_.at(tile.begin), .row_stride = out_.stride, .add = true, .row_scale = share});
    });
  }

  // The scores of a query become weights but for a factor, which is returned: exp(largest of the block - largest so
  // far).
  float weigh(float* scores, Range block, bool has_padding, int64_t query) {
    Range seen = call_.seen_in(block, sequence_, query);
    kernels::SoftmaxSums sums{};
    if (seen.size() > 0) {
      sums = kernels::softmax_exponentials(scores + seen.begin, seen.size());
      const bool only_padding =
          has_padding && sums.largest == -std::numeric_limits<double>::infinity() && !std::isnan(sums.numbers);
      if (only_padding) seen = {0, 0};
    }
    clear_outside(scores, block.size(), seen);
    if (seen.size() == 0) return 0;
    double& largest = largest_[query - queries_.begin];
    double& total = total_[query - queries_.begin];
    const double now = std::max(largest, sums.largest);
    const double before_share = std::exp(largest - now), share = std::exp(sums.largest - now);
    if (total != 0 && before_share != 1) {
      kernels::scale_and_shift(out_.at(query), call_.width, static_cast<float>(before_share), 0);
    }
    total = total * before_share + sums.exponentials * share;
    largest = now;
    if (call_.drops()) {
      float* seen_scores = scores + seen.begin;
      call_.drop(seen_scores, seen_scores, seen.size(), sequence_, head_, query, block.begin + seen.begin);
    }
    return static_cast<float>(share);
  }

  const SoftmaxCall& call_;
  int64_t sequence_, head_;
  Range queries_;
  Rows q_, k_, v_;
  WrittenRows out_{};
  double largest_[kQueriesOfUnit], total_[kQueriesOfUnit];  // of each query: score, sum of exp(score - largest)
};

}  // namespace

SoftmaxForward softmax_attention_forward(const SoftmaxAttention& a, uint64_t seed) {
  kernels::use_cpu_target_of_environment();
  const SoftmaxCall call(a, seed);
  const at::Tensor out = heads_beside_each_other(a.q);
  const at::Tensor sums = at::empty({call.sequences, call.heads, call.queries, 2}, a.q.options());
  const int64_t units = (call.queries + kQueriesOfUnit - 1) / kQueriesOfUnit;
  float* all_sums = sums.mutable_data_ptr<float>();
  const int64_t grain = call.grain(std::min(kQueriesOfUnit, call.queries));
  parallel_for(0, call.sequences * call.heads * units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t of_head = i / units, first = i % units * kQueriesOfUnit;
      const int64_t sequence = of_head / call.heads, head = of_head % call.heads;
      ForwardUnit(call, a, sequence, head, {first, std::min(call.queries, first + kQueriesOfUnit)})
          .run(written_rows_of(out, sequence, head), all_sums + 2 * of_head * call.queries);
    }
  });
  return {out, sums};
}

}  // namespace primal::ops
