// primal::attention_backward for every backend, in ATen calls. The pass is recomputed from the inputs, so the forward
// pass stores nothing besides them.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "ops/attention/check.h"
#include "ops/attention/pass.h"
#include "ops/fading_mean.h"
#include "ops/fused/attention.h"
#include "ops/sampling.h"

namespace primal::ops {

namespace {

// [..., a] and [..., b] -> [a, b]: the sum over everything else of the outer product, the gradient of a weight.
at::Tensor outer_sum(const at::Tensor& left, const at::Tensor& right) {
  return at::matmul(left.reshape({-1, left.size(-1)}).t(), right.reshape({-1, right.size(-1)}));
}

at::Tensor column_sum(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}).sum(0); }

at::Tensor per_sample(const at::Tensor& grad) { return grad.view({-1, 1, 1, 1}); }

struct ScoreGradients {
  at::Tensor e, r;  // [B, H, N, s]
};

struct Gradients {
  at::Tensor query, key;  // [B, N, D]
  at::Tensor q_weight, q_bias, k_weight, k_bias, we, wr, lam, score_weight, score_bias, out_weight, out_bias;
  at::Tensor log_scale;
};

// Through the output projection and Linear(2s -> d) back to the scores.
ScoreGradients through_output(const AttentionArguments& a, const AttentionPass& pass, const at::Tensor& grad_out,
                              Gradients& g) {
  const at::Tensor grad = zero_where(grad_out, pass.query_out);
  g.out_weight = outer_sum(grad, pass.merged);
  g.out_bias = column_sum(grad);
  at::Tensor grad_merged = at::matmul(grad, a.out_weight);
  if (!a.mode.respect_padding) grad_merged = zero_where(grad_merged, a.query_padding);

  const at::Tensor grad_mixed = split_heads(grad_merged.to(pass.e.scalar_type()), a.heads());
  g.score_weight = outer_sum(grad_mixed, pass.concatenated);
  g.score_bias = column_sum(grad_mixed);
  const at::Tensor grad_scores = at::matmul(grad_mixed, a.score_weight.to(pass.e.scalar_type()));
  const int64_t rank = pass.e.size(-1);
  ScoreGradients result{grad_scores.narrow(-1, 0, rank), grad_scores.narrow(-1, rank, rank)};
  if (a.key) {
    const at::Tensor grad_keys = take_rows_backward(merge_heads(result.r), pass.beside, pass.key.size(1));
    result.r = split_heads(zero_where(grad_keys, pass.key_out), a.heads());
  }
  return result;
}

// Adds the gradient of 1/2 mean(score Lambda score^T), weighted by grad [B]; returns its share of Lambda's.
at::Tensor add_mean_square(const at::Tensor& grad, const at::Tensor& score, const at::Tensor& lam,
                           const OptionalTensor& left_out, at::Tensor& grad_score) {
  const at::Tensor weighted = score * token_weight(score, left_out) * per_sample(grad);
  grad_score = grad_score + weighted * lam.unsqueeze(1);
  return (weighted * score).sum({0, 2}) * 0.5;
}

// What a score was made of: q or k.
struct Side {
  const at::Tensor& alone;  // [B, N, D]: before a fading mean
  const at::Tensor& u;      // [B, H, N, d]
  const at::Tensor& features;
  const at::Tensor& weights;
  const OptionalTensor& left_out;
};

// From a score back to the projected tokens [B, N, D] (before any mean) and to the weights it was made with.
struct ProjectionGradients {
  at::Tensor tokens;     // [B, N, D] inner
  at::Tensor weights;    // [B or 1, H, p, s] inner
  at::Tensor log_scale;  // [G] float64; undefined without
};

ProjectionGradients through_scores(const AttentionArguments& a, const AttentionPass& pass, const at::Tensor& grad_score,
                                   const Side& side) {
  at::Tensor grad_weights = at::matmul(side.features.transpose(2, 3), grad_score);
  if (!a.mode.data_dependent) grad_weights = grad_weights.sum(0, /*keepdim=*/true);
  const at::Tensor grad_features = at::matmul(grad_score, side.weights.transpose(2, 3));
  at::Tensor grad_tokens = merge_heads(pass.map->backward(side.u, grad_features));
  if (a.log_scale) {
    auto [x, log_scale] =
        fading_mean_backward(grad_tokens, side.alone, merge_heads(side.u), *a.log_scale, side.left_out);
    return {x, grad_weights, log_scale};
  }
  if (a.mode.causal) grad_tokens = running_mean_backward(grad_tokens, side.left_out);
  return {grad_tokens, grad_weights, at::Tensor()};
}

// From the weights We|X = f(X)^T We to We, Wr and the sampled rows; returns the gradient for the key sequence.
at::Tensor through_rows(const AttentionArguments& a, const AttentionPass& pass, const at::Tensor& grad_we_x,
                        const at::Tensor& grad_wr_x, Gradients& g) {
  const auto inner = pass.e.scalar_type();
  g.we = at::matmul(pass.rows_f, grad_we_x).sum(0);
  g.wr = at::matmul(pass.rows_f, grad_wr_x).sum(0);
  at::Tensor grad_rows = at::matmul(a.we.to(inner), grad_we_x.transpose(2, 3)) +
                         at::matmul(a.wr.to(inner), grad_wr_x.transpose(2, 3));  // [B, H, n, p]
  if (pass.rows_f.size(-1) != pass.rows.size(-1)) grad_rows = pass.map->backward(pass.rows, grad_rows);
  return take_rows_backward(merge_heads(grad_rows), pass.positions, pass.key.size(1));
}

// From the trace to the weights it was taken of.
void add_trace(const AttentionArguments& a, const AttentionPass& pass, const at::Tensor& grad_tr, at::Tensor& grad_we_x,
               at::Tensor& grad_wr_x) {
  const at::Tensor share = per_sample(grad_tr) / a.heads();
  const bool one_for_all = pass.we_x.size(0) == 1 && a.query.size(0) != 1;
  const at::Tensor weight = one_for_all ? share.sum(0, /*keepdim=*/true) : share;
  grad_we_x = grad_we_x + weight * pass.wr_x;
  grad_wr_x = grad_wr_x + weight * pass.we_x;
}

Gradients attention_gradients(const AttentionArguments& a, const at::Tensor& grad_out, const at::Tensor& grad_le,
                              const at::Tensor& grad_lr, const at::Tensor& grad_tr) {
  const AttentionPass pass = run_pass(a);
  const auto inner = pass.e.scalar_type(), dtype = a.query.scalar_type();
  const at::Tensor lam = a.lam.to(inner);
  Gradients g;
  ScoreGradients scores = through_output(a, pass, grad_out, g);
  g.lam = add_mean_square(grad_le, pass.e, lam, pass.query_out, scores.e) +
          add_mean_square(grad_lr, pass.r, lam, pass.key_out, scores.r);

  auto [grad_q, grad_we_x, scale_q] =
      through_scores(a, pass, scores.e, {pass.q_alone, pass.q, pass.query_f, pass.we_x, pass.query_out});
  auto [grad_k, grad_wr_x, scale_k] =
      through_scores(a, pass, scores.r, {pass.k_alone, pass.k, pass.key_f, pass.wr_x, pass.key_out});
  if (a.log_scale) g.log_scale = scale_q + scale_k;
  if (a.mode.trace_on_data) add_trace(a, pass, grad_tr, grad_we_x, grad_wr_x);

  grad_q = grad_q.to(dtype);
  grad_k = grad_k.to(dtype);
  g.q_weight = outer_sum(grad_q, pass.query);
  g.q_bias = column_sum(grad_q);
  g.k_weight = outer_sum(grad_k, pass.key);
  g.k_bias = column_sum(grad_k);
  g.query = at::matmul(grad_q, a.q_weight);
  g.key = at::matmul(grad_k, a.k_weight);
  if (a.mode.data_dependent) {
    g.key = g.key + through_rows(a, pass, grad_we_x, grad_wr_x, g).to(dtype);
  } else {
    g.we = grad_we_x.squeeze(0);
    g.wr = grad_wr_x.squeeze(0);
  }
  if (!a.mode.trace_on_data) {
    const at::Tensor share = grad_tr.sum() / a.heads();
    g.we = g.we + share * a.wr;
    g.wr = g.wr + share * a.we;
  }
  if (!a.key) g.query = g.query + g.key;
  g.query = zero_where(g.query, pass.query_out);
  g.key = zero_where(g.key, pass.key_out);
  return g;
}

Gradients fused_gradients(const AttentionArguments& a, const at::Tensor& grad_out, const at::Tensor& grad_le,
                          const at::Tensor& grad_lr, const at::Tensor& grad_tr, const OptionalTensor& kept) {
  auto [query, p] = fused::attention_backward(a, grad_out, {grad_le, grad_lr, grad_tr}, kept ? *kept : at::Tensor());
  return {query, at::Tensor(), p.q_weight,     p.q_bias,     p.k_weight,   p.k_bias,   p.we,
          p.wr,  p.lam,        p.score_weight, p.score_bias, p.out_weight, p.out_bias, p.log_scale};
}

// One per differentiable argument, in the order of the schema; an absent argument gets an empty tensor.
std::vector<at::Tensor> attention_backward(const at::Tensor& grad_out, const at::Tensor& grad_le,
                                           const at::Tensor& grad_lr, const at::Tensor& grad_tr,
                                           PRIMAL_ATTENTION_PARAMETERS, const OptionalTensor& kept) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  const Gradients g = fused::can_run(a) ? fused_gradients(a, grad_out, grad_le, grad_lr, grad_tr, kept)
                                        : attention_gradients(a, grad_out, grad_le, grad_lr, grad_tr);
  const auto like = [&](const at::Tensor& grad, const OptionalTensor& argument) {
    return argument ? grad.to(argument->scalar_type()).contiguous() : at::empty({0}, grad_out.options());
  };
  return {like(g.query, query),
          like(g.key, key),
          like(g.q_weight, q_weight),
          like(g.q_bias, q_bias),
          like(g.k_weight, k_weight),
          like(g.k_bias, k_bias),
          like(g.we, we),
          like(g.wr, wr),
          like(g.lam, lam),
          like(g.score_weight, score_weight),
          like(g.score_bias, score_bias),
          like(g.out_weight, out_weight),
          like(g.out_bias, out_bias),
          like(g.log_scale, log_scale)};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, CompositeExplicitAutograd, m) { m.impl("attention_backward", attention_backward); }

}  // namespace primal::ops
