#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "kernels/softmax_row.h"
#include "ops/softmax_attention/pass.h"
#include "ops/softmax_attention/tiles.h"

namespace primal::ops {

namespace {

using namespace softmax;

// One head of one sequence. The weights are computed again, block of keys by block of keys.
class BackwardUnit {
 public:
  BackwardUnit(const SoftmaxCall& call, const SoftmaxAttention& a, int64_t sequence, int64_t head)
      : call_(call),
        sequence_(sequence),
        head_(head),
        q_(rows_of(a.q, sequence, head)),
        k_(rows_of(a.k, sequence, head)),
        v_(rows_of(a.v, sequence, head)) {}

  struct Gradients {
    WrittenRows q, k, v;
  };

  void run(Rows out, const float* sums, Rows out_gradient, Gradients gradients) {
    out_gradient_ = out_gradient;
    sums_ = sums;
    gradients_ = gradients;
    for (int64_t i = 0; i < call_.queries; ++i) std::fill_n(gradients.q.at(i), call_.width, 0.0F);
    fused::TileSpace space;
    along_ = space.take(1, call_.queries);
    const Range queries = call_.counted_queries(sequence_);
    for (int64_t i = queries.begin; i < queries.end; ++i) {
      const float* o = out.at(i);
      along_[i] = call_.is_hidden(sequence_, i) ? 0 : std::inner_product(o, o + call_.width, out_gradient.at(i), 0.0F);
    }
    const Range keys = call_.counted_keys(sequence_);
    for_each_part(keys, kKeys, [&](Range block) { block_of_keys(block, queries); });
    clear_keys({0, keys.begin});
    clear_keys({keys.end, call_.keys});
  }

 private:
  // What the tiles of a block of keys share.
  struct Block {
    Range keys;
    float *k_across, *v_across, *k_down;  // packed: [d, keys], [d, keys], [keys, d]
    const float* added;
    float *p, *kept, *gradient;  // [queries, keys]
  };

  void block_of_keys(Range keys, Range queries) {
    fused::TileSpace space;
    const int64_t count = keys.size(), width = call_.width;
    const Rows k = call_.without_hidden_keys(k_, sequence_, keys, space.take(count, width));
    const Rows v = call_.without_hidden_keys(v_, sequence_, keys, space.take(count, width));
    Block block{.keys = keys,
                .k_across = space.take(1, kernels::packed_size(width, count)),
                .v_across = space.take(1, kernels::packed_size(width, count)),
                .k_down = space.take(1, kernels::packed_size(count, width)),
                .added = call_.added_to_scores(sequence_, keys, space.take(1, count)),
                .p = space.take(kQueries, count),
                .kept = call_.drops() ? space.take(kQueries, count) : nullptr,
                .gradient = space.take(kQueries, count)};
    if (block.kept == nullptr) block.kept = block.p;
    kernels::pack({k.data, 1, k.stride}, width, count, block.k_across);
    kernels::pack({v.data, 1, v.stride}, width, count, block.v_across);
    kernels::pack({k.data, k.stride, 1}, count, width, block.k_down);
    bool first = true;
    for_each_part(queries, kQueries, [&](Range tile) {
      if (intersection(call_.seen_by(tile), keys).size() == 0) return;
      tile_of_queries(tile, block, first);
      first = false;
    });
    if (first) return clear_keys(keys);  // no query looks at them
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      kernels::scale_and_shift(gradients_.k.at(j), width, call_.scale, 0);
    }
  }

  void clear_keys(Range keys) {
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      std::fill_n(gradients_.k.at(j), call_.width, 0.0F);
      std::fill_n(gradients_.v.at(j), call_.width, 0.0F);
    }
  }

  void tile_of_queries(Range tile, const Block& block, bool first) {
    fused::TileSpace space;
    const int64_t rows = tile.size(), count = block.keys.size(), width = call_.width;
    const kernels::ProductShape scores_shape{rows, count, width}, keys_shape{count, width, rows};
    const Rows q = call_.without_hidden_queries(q_, sequence_, tile, space.take(rows, width));
    const Rows g = call_.without_hidden_queries(out_gradient_, sequence_, tile, space.take(rows, width));
    kernels::multiply(
        {q.data, q.stride}, block.k_across, scores_shape,
        {.data = block.p, .row_stride = count, .bias = block.added, .row_scale = &call_.scale, .row_scale_stride = 0});
    kernels::multiply({g.data, g.stride}, block.v_across, scores_shape, {.data = block.gradient, .row_stride = count});
    for (int64_t i = tile.begin; i < tile.end; ++i) {
      weigh(block, (i - tile.begin) * count, i);
    }
    float* packed = space.take(1, kernels::packed_size(rows, width));
    float* left = space.take(1, kernels::outer_products_space(keys_shape));
    kernels::pack({g.data, g.stride, 1}, rows, width, packed);
    kernels::add_outer_products(block.kept, count, packed, keys_shape, gradients_.v.at(block.keys.begin),
                                gradients_.v.stride, !first, left);
    for (int64_t i = 0; i < rows; ++i) {
      kernels::softmax_gradient(block.p + i * count, block.kept + i * count, block.gradient + i * count, count,
                                along_[tile.begin + i]);
    }
    kernels::pack({q.data, q.stride, 1}, rows, width, packed);
    kernels::add_outer_products(block.gradient, count, packed, keys_shape, gradients_.k.at(block.keys.begin),
                                gradients_.k.stride, !first, left);
    kernels::multiply({block.gradient, count}, block.k_down, {rows, width, count},
                      {.data = gradients_.q.at(tile.begin),
                       .row_stride = gradients_.q.stride,
                       .add = true,
                       .row_scale = &call_.scale,
                       .row_scale_stride = 0});
  }

  // From the scores of a query to its weights, and those that dropout keeps; 0 where it does not look.
  void weigh(const Block& block, int64_t offset, int64_t query) {
    const Range seen = call_.seen_in(block.keys, sequence_, query);
    const float largest = sums_[2 * query], log_sum = sums_[2 * query + 1];
    float* p = block.p + offset;
    if (std::isnan(log_sum)) {  // the exponential of a NaN would be 0
      std::fill_n(p + seen.begin, seen.size(), log_sum);
    } else {
      kernels::softmax_probabilities(p + seen.begin, seen.size(), largest, log_sum);
    }
    clear_outside(p, block.keys.size(), seen);
    if (!call_.drops()) return;
    float* kept = block.kept + offset;
    call_.drop(p + seen.begin, kept + seen.begin, seen.size(), sequence_, head_, query, block.keys.begin + seen.begin);
    clear_outside(kept, block.keys.size(), seen);
  }

  const SoftmaxCall& call_;
  int64_t sequence_, head_;
  Rows q_, k_, v_, out_gradient_{};
  const float* sums_ = nullptr;
  float* along_ = nullptr;  // of each query: <gradient of its weights, its weights>
  Gradients gradients_{};
};

}  // namespace

SoftmaxGradients softmax_attention_backward(const SoftmaxAttention& a, uint64_t seed, const SoftmaxForward& forward,
                                            const at::Tensor& out_gradient) {
  const SoftmaxCall call(a, seed);
  const SoftmaxGradients gradients{heads_beside_each_other(a.q), heads_beside_each_other(a.k),
                                   heads_beside_each_other(a.k)};
  const float* sums = forward.sums.const_data_ptr<float>();
  parallel_for(0, call.sequences * call.heads, call.grain(call.queries), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sequence = i / call.heads, head = i % call.heads;
      const auto written = [&](const at::Tensor& x) { return written_rows_of(x, sequence, head); };
      BackwardUnit(call, a, sequence, head)
          .run(rows_of(forward.out, sequence, head), sums + 2 * i * call.queries, rows_of(out_gradient, sequence, head),
               {.q = written(gradients.q), .k = written(gradients.k), .v = written(gradients.v)});
    }
  });
  return gradients;
}

}  // namespace primal::ops
