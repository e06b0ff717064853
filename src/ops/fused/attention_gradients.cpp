#include "ops/fused/attention_gradients.h"

#include <ATen/ATen.h>

#include "ops/fused/tile_space.h"
#include "ops/parallel.h"

namespace primal::ops::fused {

namespace {

// Copies: the results of an operator must not share memory.
std::tuple<at::Tensor, at::Tensor> halves(const at::Tensor& both) {
  const int64_t half = both.size(0) / 2;
  return {both.narrow(0, 0, half).clone(), both.narrow(0, half, half).clone()};
}

// [B] for e and r, each times Lambda-like [H, s] or 1 -> [B, 2 H s]
at::Tensor spread(const at::Tensor& e, const at::Tensor& r, const at::Tensor& per_score) {
  const at::Tensor both = at::stack({e, r}, 1).view({-1, 1, 2, 1}) * per_score.unsqueeze(1).unsqueeze(0);
  return both.reshape({e.size(0), -1}).contiguous();
}

}  // namespace

AttentionGradients::AttentionGradients(const AttentionPass& pass, TermGradients terms)
    : pass_(pass), terms_(std::move(terms)) {
  const AttentionArguments& a = pass.arguments();
  const AttentionShape& shape = pass.shape();
  project_back_ = PackedMatrix::of_weights(a.q_weight.contiguous(), a.k_weight.contiguous(), /*transposed=*/false);
  output_back_ = PackedMatrix::of_weight(pass.folded().matrix, /*transposed=*/false);
  weights_back_ = pass.weights().packed_transposed();
  const at::Tensor e = terms_.le * pass.token_weight(), r = terms_.lr * pass.token_weight();
  slope_ = spread(e, r, a.lam);
  half_weight_ = spread(e * 0.5, r * 0.5, at::ones_like(a.lam));
  q_k_weight_ = work_space({2 * shape.width, shape.width});
  folded_ = work_space({shape.scores(), shape.width});
  weights_x_ = at::empty_like(pass.weights().plain);
  const int64_t tiles = (shape.all_tokens() + pass.tile() - 1) / pass.tile();
  tile_bias_ = zeros({tiles, 2 * shape.width});
  tile_out_bias_ = zeros({tiles, shape.width});
  tile_lambda_ = zeros({tiles, shape.scores()});
}

AttentionGradients::Chunk AttentionGradients::chunk_space(int64_t tokens) const {
  const AttentionShape& shape = pass_.shape();
  return {work_space({tokens, shape.scores()}), work_space({tokens, shape.scores()}),
          work_space({tokens, 2 * shape.width})};
}

// From the gradient of the output to that of the scores.
void AttentionGradients::output_tile(Range tile, const float* out_gradient, float* gradient) const {
  const ReadTokens& read = pass_.read();
  const int64_t rows = read.rows(tile).size(), row = pass_.shape().scores();
  TileSpace space;
  float* result = read.all() ? gradient : space.take(rows, row);
  output_back_.multiply({out_gradient, pass_.shape().width}, rows, {.data = result, .row_stride = row});
  if (!read.all()) read.scatter(tile, row, result, gradient);
}

// The gradient of the scores, per sample since the weights of the terms are; and Lambda's.
void AttentionGradients::score_tile(Range tile, int64_t index, const float* scores, const float* inverse,
                                    float* gradient, float* along) {
  const AttentionShape& shape = pass_.shape();
  const int64_t row = shape.scores(), pieces = 2 * shape.heads;
  float* lambda = tile_lambda_.mutable_data_ptr<float>() + index * row;
  TileSpace space;
  float* squares = space.take(1, row);
  for_each_sample(tile, shape.tokens, [&](Range part, int64_t sample) {
    const int64_t first = part.begin - tile.begin;
    kernels::score_gradient(scores + first * row, pass_.scores_of(part), slope_.const_data_ptr<float>() + sample * row,
                            inverse + first * pieces, gradient + first * row, along + first * pieces);
    std::fill_n(squares, row, 0.0f);
    kernels::add_squares(scores + first * row, pass_.scores_of(part), squares);
    const float* weight = half_weight_.const_data_ptr<float>() + sample * row;
    for (int64_t j = 0; j < row; ++j) lambda[j] += weight[j] * squares[j];
  });
}

void AttentionGradients::tile(Range tile, int64_t index, const float* projected, const float* out_gradient,
                              const Chunk& chunk, int64_t start, float* x_gradient) {
  tile_of_scores(tile, index, projected, out_gradient, chunk, start);
  const int64_t offset = (tile.begin - start) * 2 * pass_.shape().width;
  tile_of_projection(tile, index, data(chunk.projected_gradient, offset), x_gradient);
}

void AttentionGradients::tile_of_scores(Range tile, int64_t index, const float* projected, const float* out_gradient,
                                        const Chunk& chunk, int64_t start) {
  const AttentionShape& shape = pass_.shape();
  const ReadTokens& read = pass_.read();
  const int64_t width = shape.width, d = shape.head_width(), row = shape.scores(), pieces = 2 * shape.heads;
  const int64_t offset = tile.begin - start, read_rows = read.rows(tile).size();
  float* kept_scores = data(chunk.scores, read.rows({start, tile.begin}).size() * row);
  float* gradient = data(chunk.score_gradient, offset * row);
  float* projected_gradient = data(chunk.projected_gradient, offset * 2 * width);
  TileSpace space;
  float* inverse = space.take(tile.size(), pieces);
  float* along = space.take(tile.size(), pieces);
  float* scores = read.all() ? kept_scores : space.take(tile.size(), row);

  pass_.scores(projected, tile, inverse, scores);
  output_tile(tile, out_gradient, gradient);
  score_tile(tile, index, scores, inverse, gradient, along);
  if (!read.all()) read.gather(tile, row, scores, kept_scores);

  kernels::negated_multiples(projected, pass_.heads_of(tile), along, projected_gradient, 2 * width);
  for_each_sample(tile, shape.tokens, [&](Range part, int64_t sample) {
    const int64_t first = part.begin - tile.begin;
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t head = 0; head < shape.heads; ++head) {
        kernels::multiply({gradient + first * row + (2 * head + side) * shape.rank, row},
                          pass_.weights().at(weights_back_, sample, side, head), {part.size(), d, shape.rank},
                          {.data = projected_gradient + first * 2 * width + side * width + head * d,
                           .row_stride = 2 * width,
                           .add = true});
      }
    }
  });
  kernels::add_column_sums(out_gradient, read_rows, width, width,
                           tile_out_bias_.mutable_data_ptr<float>() + index * width);
}

void AttentionGradients::tile_of_projection(Range tile, int64_t index, const float* projected_gradient,
                                            float* x_gradient) {
  const int64_t width = pass_.shape().width;
  project_back_.multiply({projected_gradient, 2 * width}, tile.size(), {.data = x_gradient, .row_stride = width});
  kernels::add_column_sums(projected_gradient, tile.size(), 2 * width, 2 * width,
                           tile_bias_.mutable_data_ptr<float>() + index * 2 * width);
}

OuterProduct AttentionGradients::projection_product(Range range, const float* x,
                                                    const float* projected_gradient) const {
  const int64_t width = pass_.shape().width;
  return {{projected_gradient, 2 * width},
          {x, width},
          {2 * width, width, range.size()},
          data(q_k_weight_),
          /*add=*/range.begin > 0};
}

void AttentionGradients::chunk(Range range, const float* x, const float* projected, const float* out_gradient,
                               const Chunk& chunk, std::vector<OuterProduct> products) {
  products.push_back(projection_product(range, x, data(chunk.projected_gradient)));
  chunk_of_scores(range, projected, out_gradient, chunk, std::move(products));
}

void AttentionGradients::chunk_of_scores(Range range, const float* projected, const float* out_gradient,
                                         const Chunk& chunk, std::vector<OuterProduct> products) {
  const AttentionShape& shape = pass_.shape();
  const int64_t width = shape.width, d = shape.head_width(), row = shape.scores(), rank = shape.rank;
  products.push_back({{data(chunk.scores), row},
                      {out_gradient, width},
                      {row, width, pass_.read().rows(range).size()},
                      data(folded_),
                      /*add=*/range.begin > 0});
  // We|X and Wr|X: the tokens of each sample, or all of them for weights that do not depend on data.
  const int64_t length = weights_x_.size(0) == 1 ? shape.all_tokens() : shape.tokens;
  for_each_sample(range, length, [&](Range part, int64_t sample) {
    const int64_t from = part.begin - range.begin;
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t head = 0; head < shape.heads; ++head) {
        const float* of_head = projected + from * 2 * width + side * width + head * d;
        const float* gradient = data(chunk.score_gradient, from * row + (2 * head + side) * rank);
        float* result = data(weights_x_, ((sample * 2 + side) * shape.heads + head) * d * rank);
        products.push_back(
            {{of_head, 2 * width}, {gradient, row}, {d, rank, part.size()}, result, part.begin > sample * length});
      }
    }
  });
  add_outer_products(products);
}

// From We|X = f(X)^T We to We, Wr and the rows f(X).
void AttentionGradients::through_rows(const at::Tensor& rows, at::Tensor* rows_gradient, ParameterGradients& g) {
  const AttentionArguments& a = pass_.arguments();
  const AttentionShape& shape = pass_.shape();
  const int64_t n = rows.size(1), width = shape.width, d = shape.head_width(), s = shape.rank, heads = shape.heads;
  const at::Tensor we_wr = at::stack({a.we, a.wr});  // [2, H, n, s]
  at::Tensor we_wr_gradient = zeros({2, heads, n, s});
  *rows_gradient = work_space({shape.batch, n, width});
  const float* x = rows.const_data_ptr<float>();
  const float* weights_gradient = weights_x_.const_data_ptr<float>();
  const float* weights = we_wr.const_data_ptr<float>();
  float* gradient = we_wr_gradient.mutable_data_ptr<float>();
  float* x_gradient = rows_gradient->mutable_data_ptr<float>();
  const auto matrix = [&](int64_t b, int64_t side, int64_t head) { return ((b * 2 + side) * heads + head) * d * s; };

  parallel_for(0, 2 * heads, items_per_thread(shape.batch * n * s * d), [&](int64_t begin, int64_t end) {
    const at::Tensor packed = work_space({kernels::packed_size(d, s)});
    auto* data = packed.mutable_data_ptr<float>();
    for (int64_t piece = begin; piece < end; ++piece) {
      for (int64_t b = 0; b < shape.batch; ++b) {
        kernels::pack({weights_gradient + matrix(b, piece / heads, piece % heads), s}, d, s, data);
        kernels::multiply({x + b * n * width + piece % heads * d, width}, data, {n, s, d},
                          {.data = gradient + piece * n * s, .row_stride = s, .add = true});
      }
    }
  });
  parallel_for(0, shape.batch, items_per_thread(2 * heads * n * s * d), [&](int64_t begin, int64_t end) {
    const at::Tensor packed = work_space({kernels::packed_size(s, d)});
    auto* data = packed.mutable_data_ptr<float>();
    for (int64_t b = begin; b < end; ++b) {
      for (int64_t piece = 0; piece < 2 * heads; ++piece) {
        kernels::pack({weights_gradient + matrix(b, piece / heads, piece % heads), 1, s}, s, d, data);
        kernels::multiply(
            {weights + piece * n * s, s}, data, {n, d, s},
            {.data = x_gradient + b * n * width + piece % heads * d, .row_stride = width, .add = piece >= heads});
      }
    }
  });
  std::tie(g.we, g.wr) = halves(we_wr_gradient.flatten(0, 1));
}

ParameterGradients AttentionGradients::finish(const at::Tensor& rows, const at::Tensor& out_bias,
                                              at::Tensor* rows_gradient) {
  const AttentionArguments& a = pass_.arguments();
  const AttentionShape& shape = pass_.shape();
  ParameterGradients g;
  const at::Tensor share = terms_.tr / shape.heads;
  if (a.mode.trace_on_data) {
    const at::Tensor& plain = pass_.weights().plain;
    const bool one_for_all = plain.size(0) == 1 && shape.batch != 1;
    const at::Tensor weight = (one_for_all ? share.sum(0, /*keepdim=*/true) : share).view({-1, 1, 1, 1, 1});
    weights_x_ = (weights_x_ + weight * plain.flip(1)).contiguous();
  }
  if (a.mode.data_dependent) {
    through_rows(rows, rows_gradient, g);
  } else {
    std::tie(g.we, g.wr) = halves(weights_x_[0].flatten(0, 1));
  }
  if (!a.mode.trace_on_data) {
    const at::Tensor sum = share.sum();
    g.we = g.we + sum * a.wr;
    g.wr = g.wr + sum * a.we;
  }
  g.lam = tile_lambda_.sum(0).view({shape.heads, 2, shape.rank}).sum(1);
  std::tie(g.q_weight, g.k_weight) = halves(q_k_weight_);
  std::tie(g.q_bias, g.k_bias) = halves(tile_bias_.sum(0));
  const at::Tensor folded_bias = tile_out_bias_.sum(0);
  FoldedGradients folded = unfold(a, shape, folded_, folded_bias);
  g.score_weight = folded.score_weight;
  g.score_bias = folded.score_bias;
  g.out_weight = folded.out_weight;
  g.out_bias = out_bias.defined() ? out_bias : folded_bias;
  return g;
}

}  // namespace primal::ops::fused
