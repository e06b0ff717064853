#include "ops/attention/pass.h"

#include <ATen/ATen.h>

#include "ops/attention/check.h"
#include "ops/fading_mean.h"
#include "ops/sampling.h"

namespace primal::ops {

namespace {

at::Tensor projected(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias) {
  return at::linear(x, weight, bias).to(accumulate_dtype(x.scalar_type()));
}

// f(X): the sampled rows themselves when the features have the head's width (the published form); otherwise phi of
// them, since the weights must live in the feature space.
void sample_rows(const AttentionArguments& a, AttentionPass& pass) {
  const int64_t tokens = pass.key.size(1);
  pass.positions =
      sample_positions(tokens, pass.key_out, a.we.size(1), sampling_of(a.mode.sampling), pass.key.device());
  at::Tensor rows = take_rows(pass.key, pass.positions).to(pass.q.scalar_type());
  pass.rows = split_heads(rows, a.heads());
  pass.rows_f = pass.query_f.size(-1) == pass.rows.size(-1) ? pass.rows : pass.map->forward(pass.rows);
  if (tokens == 0) {
    pass.rows_f = at::zeros_like(pass.rows_f);
  } else if (pass.key_out) {  // a sequence without any token has no row to take
    pass.rows_f = pass.rows_f * pass.key_out->all(1).logical_not().view({-1, 1, 1, 1});
  }
}

void make_weights(const AttentionArguments& a, AttentionPass& pass) {
  const at::Tensor we = a.we.to(pass.q.scalar_type()), wr = a.wr.to(pass.q.scalar_type());
  if (!a.mode.data_dependent) {
    pass.we_x = we.unsqueeze(0);
    pass.wr_x = wr.unsqueeze(0);
    return;
  }
  sample_rows(a, pass);
  const at::Tensor transposed = pass.rows_f.transpose(2, 3);  // [B, H, p, n]
  pass.we_x = at::matmul(transposed, we);
  pass.wr_x = at::matmul(transposed, wr);
}

void concatenate(const AttentionArguments& a, AttentionPass& pass) {
  at::Tensor r = pass.r;
  if (a.key) {
    pass.beside =
        aligned_positions(pass.query.size(1), pass.query_out, pass.key.size(1), pass.key_out, pass.query.device());
    r = split_heads(take_rows(zero_where(merge_heads(r), pass.key_out), pass.beside), a.heads());
  }
  pass.concatenated = at::cat({pass.e, r}, -1);
}

}  // namespace

at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor merge_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

at::Tensor zero_where(const at::Tensor& x, const OptionalTensor& mask) {
  return mask ? x.masked_fill(mask->unsqueeze(-1), 0) : x;
}

at::Tensor token_weight(const at::Tensor& scores, const OptionalTensor& left_out) {
  const int64_t heads = scores.size(1), tokens = scores.size(2);
  if (!left_out) {
    return at::full({1, 1, 1, 1}, 1.0 / static_cast<double>(heads * std::max<int64_t>(tokens, 1)), scores.options());
  }
  const at::Tensor counted = left_out->logical_not().to(scores.scalar_type());
  return (counted / (counted.sum(1, /*keepdim=*/true).clamp_min(1) * heads)).view({left_out->size(0), 1, tokens, 1});
}

AttentionPass run_scores(const AttentionArguments& a, CausalState* state) {
  AttentionPass pass;
  pass.map = find_feature_map(a.mode.feature_map);
  if (a.mode.respect_padding) {
    pass.query_out = a.query_padding;
    pass.key_out = a.keys_padding();
  }
  // Whatever stands in padded tokens, even NaN, must not reach a product.
  pass.query = zero_where(a.query, pass.query_out);
  pass.key = a.key ? zero_where(*a.key, pass.key_out) : pass.query;

  at::Tensor q = projected(pass.query, a.q_weight, a.q_bias);
  at::Tensor k = projected(pass.key, a.k_weight, a.k_bias);
  if (a.log_scale) {
    pass.q_alone = q;
    pass.k_alone = k;
    q = fading_mean(q, *a.log_scale, pass.query_out, state != nullptr ? &state->q : nullptr);
    k = fading_mean(k, *a.log_scale, pass.key_out, state != nullptr ? &state->k : nullptr);
  } else if (a.mode.causal) {
    q = running_mean(q, pass.query_out, state != nullptr ? &state->q : nullptr);
    k = running_mean(k, pass.key_out, state != nullptr ? &state->k : nullptr);
  }
  pass.q = split_heads(q, a.heads());
  pass.k = split_heads(k, a.heads());
  pass.query_f = pass.map->forward(pass.q);
  pass.key_f = pass.map->forward(pass.k);
  make_weights(a, pass);
  pass.e = at::matmul(pass.query_f, pass.we_x);
  pass.r = at::matmul(pass.key_f, pass.wr_x);
  return pass;
}

void mix_scores(const AttentionArguments& a, AttentionPass& pass) {
  concatenate(a, pass);
  const auto inner = pass.e.scalar_type();
  const at::Tensor mixed = at::linear(pass.concatenated, a.score_weight.to(inner),
                                      a.score_bias ? OptionalTensor(a.score_bias->to(inner)) : std::nullopt);
  pass.merged = merge_heads(mixed).to(a.query.scalar_type());
  // The published mask (LRA) acts here, before the output projection, whose bias therefore reaches padded tokens.
  if (!a.mode.respect_padding) pass.merged = zero_where(pass.merged, a.query_padding);
}

AttentionPass run_pass(const AttentionArguments& a, CausalState* state) {
  AttentionPass pass = run_scores(a, state);
  mix_scores(a, pass);
  return pass;
}

at::Tensor output(const AttentionArguments& a, const AttentionPass& pass) {
  return zero_where(at::linear(pass.merged, a.out_weight, a.out_bias), pass.query_out).contiguous();
}

}  // namespace primal::ops
