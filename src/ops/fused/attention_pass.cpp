#include "ops/fused/attention_pass.h"

#include <ATen/ATen.h>

#include "ops/fused/token_rows.h"
#include "ops/parallel.h"
#include "ops/sampling.h"

namespace primal::ops::fused {

namespace {

at::Tensor weight_of_tokens(const AttentionShape& shape, const TokenMask& mask) {
  at::Tensor result = at::empty({shape.batch}, at::kFloat);
  float* weight = result.mutable_data_ptr<float>();
  for (int64_t b = 0; b < shape.batch; ++b) {
    int64_t count = 0;
    for (int64_t t = b * shape.tokens; t < (b + 1) * shape.tokens; ++t) count += mask.leaves_out(t) ? 0 : 1;
    weight[b] = static_cast<float>(1.0 / static_cast<double>(shape.heads * std::max<int64_t>(count, 1)));
  }
  return result;
}

// body(row of the sampled ones, token), both counted over all samples; samples in parallel.
template <typename Body>
void for_each_sampled(const at::Tensor& positions, int64_t batch, int64_t tokens, const Body& body) {
  const at::Tensor index = positions.contiguous();
  const int64_t* where = index.const_data_ptr<int64_t>();
  const int64_t n = index.size(1);
  parallel_for(0, batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t* of_sample = where + (index.size(0) == 1 ? 0 : b * n);
      for (int64_t i = 0; i < n; ++i) body(b * n + i, b * tokens + of_sample[i]);
    }
  });
}

// take_rows as float32, into memory that is used again.
at::Tensor sampled_rows(const at::Tensor& x, const at::Tensor& positions) {
  const int64_t width = x.size(2);
  at::Tensor rows = work_space({x.size(0), positions.size(1), width});
  const TokenRows tokens(x.contiguous());
  for_each_sampled(positions, x.size(0), x.size(1), [&](int64_t row, int64_t token) {
    TileSpace space;
    std::copy_n(tokens.read({token, token + 1}, space), width, data(rows, row * width));
  });
  return rows;
}

}  // namespace

TokenMask::TokenMask(const OptionalTensor& padding, bool respect_padding) : respect(respect_padding) {
  if (!padding) return;
  tensor = padding->contiguous();
  padded = tensor.const_data_ptr<bool>();
}

bool TokenMask::any(Range range) const {
  return padded != nullptr && std::any_of(padded + range.begin, padded + range.end, [](bool p) { return p; });
}

void TokenMask::clear(Range range, int64_t width, float* rows) const {
  if (padded == nullptr) return;
  for (int64_t t = range.begin; t < range.end; ++t) {
    if (padded[t]) std::fill_n(rows + (t - range.begin) * width, width, 0.0f);
  }
}

AttentionPass::AttentionPass(const AttentionArguments& arguments, const at::Tensor& rows, bool forward,
                             const OptionalTensor& unread)
    : a_(arguments),
      shape_(arguments),
      mask_(arguments.query_padding, arguments.mode.respect_padding),
      read_(unread),
      project_bias_(joined_bias(arguments)),
      weights_(arguments, shape_, rows),
      folded_(arguments, shape_),
      out_bias_(arguments.out_bias ? arguments.out_bias->contiguous() : at::zeros({shape_.width}, at::kFloat)),
      lambda_e_(lambda_of_side(arguments, 0)),
      lambda_r_(lambda_of_side(arguments, 1)),
      token_weight_(weight_of_tokens(shape_, mask_)) {
  if (!forward) return;
  project_ = PackedMatrix::of_weights(a_.q_weight.contiguous(), a_.k_weight.contiguous(), /*transposed=*/true);
  output_ = PackedMatrix::of_weight(folded_.matrix, /*transposed=*/true);
}

void AttentionPass::project(const float* x, Range tile, float* projected) const {
  const float* bias = project_bias_.defined() ? project_bias_.const_data_ptr<float>() : nullptr;
  project_.multiply({x, shape_.width}, tile.size(), {.data = projected, .row_stride = 2 * shape_.width, .bias = bias});
  // Whatever stands in tokens that are left out, even NaN, ends here: rows do not touch each other before this.
  if (mask_.respect) mask_.clear(tile, 2 * shape_.width, projected);
}

void AttentionPass::scores(const float* projected, Range tile, float* inverse, float* scores) const {
  const int64_t width = shape_.width, d = shape_.head_width(), row = shape_.scores(), pieces = 2 * shape_.heads;
  kernels::inverse_lengths(projected, heads_of(tile), inverse);
  for_each_sample(tile, shape_.tokens, [&](Range part, int64_t sample) {
    const int64_t first = part.begin - tile.begin;
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t head = 0; head < shape_.heads; ++head) {
        const int64_t piece = side * shape_.heads + head;
        kernels::multiply({projected + first * 2 * width + piece * d, 2 * width},
                          weights_.at(weights_.packed, sample, side, head), {part.size(), shape_.rank, d},
                          {.data = scores + first * row + (2 * head + side) * shape_.rank,
                           .row_stride = row,
                           .row_scale = inverse + first * pieces + piece,
                           .row_scale_stride = pieces});
      }
    }
  });
}

void AttentionPass::output(const float* scores, Range tile, float* out) const {
  const int64_t width = shape_.width;
  output_.multiply({scores, shape_.scores()}, read_.rows(tile).size(),
                   {.data = out, .row_stride = width, .bias = folded_.bias.const_data_ptr<float>()});
  if (mask_.padded == nullptr) return;
  read_.for_each_run(tile, [&](Range run, int64_t first) {
    for (int64_t t = run.begin; t < run.end; ++t) {
      if (!mask_.padded[t]) continue;
      float* row = out + (first + t - run.begin) * width;
      if (mask_.respect) {
        std::fill_n(row, width, 0.0f);
      } else {
        std::copy_n(out_bias_.const_data_ptr<float>(), width, row);
      }
    }
  });
}

void AttentionPass::squares(const float* scores, Range tile, float* le, float* lr) const {
  kernels::weighted_squares(scores, scores_of(tile), lambda_e_.const_data_ptr<float>(),
                            lambda_r_.const_data_ptr<float>(), le, lr);
}

at::Tensor AttentionPass::mean_of_squares(const at::Tensor& per_token) const {
  at::Tensor result = at::empty({shape_.batch}, at::kFloat);
  const float* values = per_token.const_data_ptr<float>();
  for (int64_t b = 0; b < shape_.batch; ++b) {
    double sum = 0;
    for (int64_t t = b * shape_.tokens; t < (b + 1) * shape_.tokens; ++t) sum += mask_.leaves_out(t) ? 0.0 : values[t];
    *data(result, b) = static_cast<float>(0.5 * sum * token_weight_.const_data_ptr<float>()[b]);
  }
  return result;
}

at::Tensor AttentionPass::trace() const {
  const at::Tensor product = a_.mode.trace_on_data
                                 ? (weights_.plain.select(1, 0) * weights_.plain.select(1, 1)).sum({1, 2, 3})
                                 : (a_.we * a_.wr).sum().view({1});
  return (product / shape_.heads).expand({shape_.batch}).contiguous();
}

SampledRows::SampledRows(const AttentionArguments& a, const at::Tensor& x) {
  if (!a.mode.data_dependent) return;
  const OptionalTensor left_out = a.left_out();
  positions = sample_positions(x.size(1), left_out, a.we.size(1), sampling_of(a.mode.sampling), x.device());
  if (x.size(1) == 0) {
    rows = at::zeros({x.size(0), a.we.size(1), x.size(2)}, at::kFloat);
    return;
  }
  if (left_out) empty = left_out->all(1).view({-1, 1, 1});
  rows = without_empty(sampled_rows(x, positions));
}

void SampledRows::add_back(const at::Tensor& gradient, const at::Tensor& x_grad) const {
  const int64_t tokens = x_grad.size(1), width = x_grad.size(2);
  if (tokens == 0) return;
  const float* from = gradient.const_data_ptr<float>();
  for_each_sampled(positions, gradient.size(0), tokens, [&](int64_t row, int64_t token) {
    kernels::add_column_sums(from + row * width, 1, width, width, data(x_grad, token * width));
  });
}

}  // namespace primal::ops::fused
