// Shapes of the results, for symbolic sizes (torch.compile, torch.export, FakeTensor).
#include <ATen/ATen.h>
#include <torch/library.h>

#include "ops/attention/check.h"
#include "ops/fused/attention.h"
#include "primal/feature_map.h"

namespace primal::ops {

namespace {

using Sizes = std::vector<c10::SymInt>;

at::Tensor empty(const at::Tensor& like, const Sizes& sizes, at::ScalarType dtype) {
  return at::empty_symint(sizes, like.options().dtype(dtype));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_meta(PRIMAL_ATTENTION_PARAMETERS) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  const auto term = [&] { return empty(query, {query.sym_size(0)}, accumulate_dtype(query.scalar_type())); };
  return {empty(query, query.sym_sizes().vec(), query.scalar_type()), term(), term(), term()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_keeping_meta(
    PRIMAL_ATTENTION_PARAMETERS) {
  auto [out, le, lr, tr] = attention_meta(PRIMAL_ATTENTION_ARGUMENTS);
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  const Sizes kept =
      fused::has_kernel(a) ? Sizes{query.sym_size(0), query.sym_size(1), query.sym_size(2) * 2} : Sizes{0};
  return {out, le, lr, tr, empty(query, kept, query.scalar_type())};
}

std::vector<at::Tensor> attention_backward_meta(const at::Tensor& /*grad_out*/, const at::Tensor& /*grad_le*/,
                                                const at::Tensor& /*grad_lr*/, const at::Tensor& /*grad_tr*/,
                                                PRIMAL_ATTENTION_PARAMETERS, const OptionalTensor& /*kept*/) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  std::vector<at::Tensor> result;
  for (const OptionalTensor& argument :
       {OptionalTensor(query), key, OptionalTensor(q_weight), q_bias, OptionalTensor(k_weight), k_bias,
        OptionalTensor(we), OptionalTensor(wr), OptionalTensor(lam), OptionalTensor(score_weight), score_bias,
        OptionalTensor(out_weight), out_bias, log_scale}) {
    result.push_back(argument ? empty(*argument, argument->sym_sizes().vec(), argument->scalar_type())
                              : at::empty({0}, query.options()));
  }
  return result;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_scores_meta(PRIMAL_ATTENTION_PARAMETERS) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  const auto dtype = accumulate_dtype(query.scalar_type());
  const c10::SymInt batch = query.sym_size(0), heads = we.sym_size(0), rank = we.sym_size(2);
  const int64_t head_width = (query.sym_size(2) / heads).guard_int(__FILE__, __LINE__);
  const c10::SymInt features = find_feature_map(feature_map)->width(head_width);
  const auto weights = [&] {
    return empty(query, {data_dependent ? batch : c10::SymInt(1), heads, features, rank}, dtype);
  };
  return {empty(query, {batch, heads, query.sym_size(1), rank}, dtype),
          empty(query, {batch, heads, a.keys().sym_size(1), rank}, dtype), weights(), weights()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_step_meta(PRIMAL_ATTENTION_PARAMETERS,
                                                                               const at::Tensor& q_sum,
                                                                               const at::Tensor& k_sum,
                                                                               const at::Tensor& count) {
  const AttentionArguments a = PRIMAL_ATTENTION_STRUCT;
  check_attention(a);
  check_step(a, q_sum, k_sum, count);
  const Sizes sums = {query.sym_size(0), query.sym_size(2)};
  return {empty(query, query.sym_sizes().vec(), query.scalar_type()), empty(query, sums, at::kDouble),
          empty(query, sums, at::kDouble), empty(query, {query.sym_size(0)}, at::kLong)};
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, Meta, m) {
  m.impl("attention", attention_meta);
  m.impl("attention_keeping", attention_keeping_meta);
  m.impl("attention_backward", attention_backward_meta);
  m.impl("attention_scores", attention_scores_meta);
  m.impl("attention_step", attention_step_meta);
}

}  // namespace primal::ops
