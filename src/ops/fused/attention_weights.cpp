#include "ops/fused/attention_weights.h"

#include <ATen/ATen.h>

#include "ops/parallel.h"

namespace primal::ops::fused {

namespace {

// [.., rows, columns] -> [.., packed size], each matrix packed by itself; transposed: as [columns, rows].
at::Tensor packed_each(const at::Tensor& matrices, bool transposed) {
  const int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  const int64_t count = matrices.numel() / std::max<int64_t>(1, rows * columns);
  const int64_t size = transposed ? kernels::packed_size(columns, rows) : kernels::packed_size(rows, columns);
  std::vector<int64_t> sizes(matrices.sizes().begin(), matrices.sizes().end() - 2);
  sizes.push_back(size);
  at::Tensor result = work_space(sizes);
  const float* from = matrices.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  parallel_for(0, count, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* matrix = from + i * rows * columns;
      if (transposed) {
        kernels::pack({matrix, 1, columns}, columns, rows, to + i * size);
      } else {
        kernels::pack({matrix, columns, 1}, rows, columns, to + i * size);
      }
    }
  });
  return result;
}

// f(X)^T We for every sample, side and head. rows: [B, n, D] -> [B, 2, H, d, s]
at::Tensor weights_of_rows(const at::Tensor& we_wr, const AttentionShape& shape, const at::Tensor& rows) {
  const int64_t n = rows.size(1), d = shape.head_width(), s = shape.rank, pieces = 2 * shape.heads;
  const at::Tensor packed = packed_each(we_wr, /*transposed=*/false);  // [2, H, packed n x s]
  const int64_t size = packed.size(-1);
  at::Tensor result = work_space({shape.batch, 2, shape.heads, d, s});
  const float* x = rows.const_data_ptr<float>();
  const float* right = packed.const_data_ptr<float>();
  float* out = result.mutable_data_ptr<float>();
  parallel_for(0, shape.batch * pieces, items_per_thread(d * s * n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sample = i / pieces, piece = i % pieces, head = piece % shape.heads;
      kernels::multiply({x + sample * n * shape.width + head * d, 1, shape.width}, right + piece * size, {d, s, n},
                        {.data = out + i * d * s, .row_stride = s});
    }
  });
  return result;
}

}  // namespace

ScoreWeights::ScoreWeights(const AttentionArguments& a, const AttentionShape& shape, const at::Tensor& rows) {
  const at::Tensor we_wr = at::stack({a.we, a.wr});
  plain = a.mode.data_dependent ? weights_of_rows(we_wr, shape, rows) : we_wr.unsqueeze(0);
  packed = packed_each(plain, /*transposed=*/false);
}

at::Tensor ScoreWeights::packed_transposed() const { return packed_each(plain, /*transposed=*/true); }

const float* ScoreWeights::at(const at::Tensor& packed_matrices, int64_t sample, int64_t side, int64_t head) const {
  const int64_t heads = plain.size(2), one = plain.size(0) == 1 ? 0 : sample;
  return packed_matrices.const_data_ptr<float>() + ((one * 2 + side) * heads + head) * packed_matrices.size(-1);
}

FoldedOutput::FoldedOutput(const AttentionArguments& a, const AttentionShape& shape) {
  const int64_t width = shape.width, d = shape.head_width(), scores = shape.scores();
  const at::Tensor out_weight = a.out_weight.contiguous();
  const PackedMatrix score_weight = PackedMatrix::of_weight(a.score_weight.contiguous(), /*transposed=*/false);
  matrix = work_space({width, scores});
  const float* from = out_weight.const_data_ptr<float>();
  float* to = matrix.mutable_data_ptr<float>();
  constexpr int64_t kRows = 48;
  parallel_for(0, (width + kRows - 1) / kRows, items_per_thread(kRows * scores * d), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kRows, rows = std::min(width, end * kRows) - first;
    for (int64_t head = 0; head < shape.heads; ++head) {
      score_weight.multiply({from + first * width + head * d, width}, rows,
                            {.data = to + first * scores + head * 2 * shape.rank, .row_stride = scores});
    }
  });
  bias = a.out_bias ? *a.out_bias : at::zeros({width}, at::kFloat);
  if (a.score_bias) bias = bias + at::mv(out_weight, a.score_bias->repeat({shape.heads}));
  bias = bias.contiguous();
}

FoldedGradients unfold(const AttentionArguments& a, const AttentionShape& shape, const at::Tensor& matrix,
                       const at::Tensor& bias) {
  const int64_t width = shape.width, heads = shape.heads, d = shape.head_width();
  const at::Tensor by_head = matrix.view({heads, 2 * shape.rank, width}).transpose(1, 2);     // [H, D, 2s]
  const at::Tensor out_by_head = a.out_weight.reshape({width, heads, d}).permute({1, 2, 0});  // [H, d, D]
  FoldedGradients g;
  g.score_weight = at::matmul(out_by_head, by_head).sum(0);
  at::Tensor out_weight = at::matmul(by_head, a.score_weight.t());  // [H, D, d]
  if (a.score_bias) {
    out_weight = out_weight + at::outer(bias, *a.score_bias);
    g.score_bias = at::matmul(out_by_head, bias).sum(0);
  }
  g.out_weight = out_weight.permute({1, 0, 2}).reshape({width, width});
  return g;
}

at::Tensor joined_bias(const AttentionArguments& a) {
  if (!a.q_bias && !a.k_bias) return {};
  const at::Tensor zero = at::zeros({a.q_weight.size(0)}, at::kFloat);
  return at::cat({a.q_bias ? *a.q_bias : zero, a.k_bias ? *a.k_bias : zero});
}

at::Tensor lambda_of_side(const AttentionArguments& a, int64_t side) {
  at::Tensor result = at::zeros({a.lam.size(0), 2, a.lam.size(1)}, at::kFloat);
  result.select(1, side).copy_(a.lam);
  return result.view({-1});
}

}  // namespace primal::ops::fused
