// primal::attention, attention_scores and attention_step for every backend, in ATen calls.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "ops/attention/check.h"
#include "ops/attention/pass.h"
#include "ops/fused/attention.h"

namespace primal::ops {

namespace {

// 1/2 of the mean over heads and counted tokens of score Lambda score^T (SPEC 2.1). -> [B]
at::Tensor half_mean_square(const at::Tensor& score, const at::Tensor& lam, const OptionalTensor& left_out) {
  const at::Tensor weighted = score.square() * lam.unsqueeze(1) * token_weight(score, left_out);
  return weighted.sum({1, 2, 3}) * 0.5;
}

// Mean over heads of <We, Wr>. -> [B]
at::Tensor trace(const AttentionArguments& a, const AttentionPass& pass) {
  const int64_t batch = a.query.size(0);
  const auto inner = pass.e.scalar_type();
  const at::Tensor product =
      a.mode.trace_on_data ? (pass.we_x * pass.wr_x).sum({1, 2, 3}) : (a.we.to(inner) * a.wr.to(inner)).sum().view({1});
  return (product / a.heads()).expand({batch}).contiguous();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_forward(PRIMAL_ATTENTION_PARAMETERS) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  if (fused::can_run(a)) {
    fused::AttentionForward result = fused::attention(a, /*keep_projected=*/false);
    return {result.out, result.le, result.lr, result.tr};
  }
  const AttentionPass pass = run_pass(a);
  const at::Tensor inner_lam = lam.to(pass.e.scalar_type());
  return {output(a, pass), half_mean_square(pass.e, inner_lam, pass.query_out),
          half_mean_square(pass.r, inner_lam, pass.key_out), trace(a, pass)};
}

// The ATen path keeps nothing; where it stands in for a kernel, the shape is that of the kernel's.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_keeping_forward(
    PRIMAL_ATTENTION_PARAMETERS) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  if (fused::can_run(a)) {
    fused::AttentionForward result = fused::attention(a, /*keep_projected=*/true);
    return {result.out, result.le, result.lr, result.tr, result.projected};
  }
  auto [out, le, lr, tr] = attention_forward(PRIMAL_ATTENTION_ARGUMENTS);
  const std::vector<int64_t> kept = fused::has_kernel(a)
                                        ? std::vector<int64_t>{query.size(0), query.size(1), query.size(2) * 2}
                                        : std::vector<int64_t>{0};
  return {out, le, lr, tr, at::empty(kept, query.options())};
}

at::Tensor zero_scores(const at::Tensor& scores, const OptionalTensor& left_out) {
  return left_out ? scores.masked_fill(left_out->unsqueeze(1).unsqueeze(-1), 0) : scores;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_scores_forward(PRIMAL_ATTENTION_PARAMETERS) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  const AttentionPass pass = run_scores(a);
  // Data-independent weights are the parameters themselves: an operator must not return an alias of its input.
  const at::Tensor we_x = data_dependent ? pass.we_x : pass.we_x.clone();
  const at::Tensor wr_x = data_dependent ? pass.wr_x : pass.wr_x.clone();
  return {zero_scores(pass.e, pass.query_out).contiguous(), zero_scores(pass.r, pass.key_out).contiguous(),
          we_x.contiguous(), wr_x.contiguous()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_step_forward(PRIMAL_ATTENTION_PARAMETERS,
                                                                                  const at::Tensor& q_sum,
                                                                                  const at::Tensor& k_sum,
                                                                                  const at::Tensor& count) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  check_step(a, q_sum, k_sum, count);
  CausalState state{{q_sum.clone(at::MemoryFormat::Contiguous), count.clone(at::MemoryFormat::Contiguous)},
                    {k_sum.clone(at::MemoryFormat::Contiguous), count.clone(at::MemoryFormat::Contiguous)}};
  const AttentionPass pass = run_pass(a, &state);
  return {output(a, pass), state.q.sum, state.k.sum, state.q.count};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, CompositeExplicitAutograd, m) {
  m.impl("attention", attention_forward);
  m.impl("attention_keeping", attention_keeping_forward);
  m.impl("attention_scores", attention_scores_forward);
  m.impl("attention_step", attention_step_forward);
}

}  // namespace primal::ops
