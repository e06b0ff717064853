#include <ATen/ATen.h>

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
  ForwardUnit(const Call& call, const SoftmaxAttention& a, int64_t sequence, int64_t head, Range queries)
      : call_(call),
        sequence_(sequence),
        head_(head),
        queries_(queries),
        q_(rows_of(a.q, sequence, head)),
        k_(rows_of(a.k, sequence, head)),
        v_(rows_of(a.v, sequence, head)) {}

  void run(Rows out, float* log_sum) {
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
      log_sum[i] =
          sees ? static_cast<float>(largest_[own] + std::log(total_[own])) : std::numeric_limits<float>::infinity();
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
        share[i - tile.begin] = weigh(scores + (i - tile.begin) * count, block, i);
      }
      kernels::multiply({scores, count}, packed_v, {tile.size(), width, count},
                        {.data = out_.at(tile.begin), .row_stride = out_.stride, .add = true, .row_scale = share});
    });
  }

  // The scores of a query become weights, up to a factor, which is returned.
  float weigh(float* scores, Range block, int64_t query) {
    const Range seen =
        call_.is_hidden(sequence_, query) ? Range{block.begin, block.begin} : intersection(call_.seen_by(query), block);
    const int64_t first = std::min(seen.begin, block.end) - block.begin, count = seen.size();
    if (count == 0) {
      std::fill_n(scores, block.size(), 0.0F);
      return 0;
    }
    const kernels::SoftmaxSums sums = kernels::softmax_exponentials(scores + first, count);
    if (sums.largest == -std::numeric_limits<double>::infinity() && !std::isnan(sums.numbers)) {
      std::fill_n(scores, block.size(), 0.0F);  // only padded keys
      return 0;
    }
    std::fill_n(scores, first, 0.0F);
    std::fill(scores + first + count, scores + block.size(), 0.0F);
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
      call_.drop(scores + first, scores + first, count, sequence_, head_, query, block.begin + first);
    }
    return static_cast<float>(share);
  }

  const Call& call_;
  int64_t sequence_, head_;
  Range queries_;
  Rows q_, k_, v_, out_{};
  double largest_[kQueriesOfUnit], total_[kQueriesOfUnit];  // of each query: score, sum of exp(score - largest)
};

}  // namespace

SoftmaxForward softmax_attention_forward(const SoftmaxAttention& a, uint64_t seed) {
  kernels::use_cpu_target_of_environment();
  const Call call(a, seed);
  const at::Tensor out = heads_beside_each_other(a.q);
  const at::Tensor log_sum = at::empty({call.sequences, call.heads, call.queries}, a.q.options());
  const int64_t units = (call.queries + kQueriesOfUnit - 1) / kQueriesOfUnit;
  float* log_sums = log_sum.mutable_data_ptr<float>();
  const int64_t grain = call.grain(std::min(kQueriesOfUnit, call.queries));
  parallel_for(0, call.sequences * call.heads * units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t of_head = i / units, first = i % units * kQueriesOfUnit;
      const int64_t sequence = of_head / call.heads, head = of_head % call.heads;
      ForwardUnit(call, a, sequence, head, {first, std::min(call.queries, first + kQueriesOfUnit)})
          .run(rows_of(out, sequence, head), log_sums + of_head * call.queries);
    }
  });
  return {out, log_sum};
}

}  // namespace primal::ops
