// CPU autocast: tokens and projections in the autocast dtype; We, Wr and Lambda stay, since they make the KSVD terms;
// and so does log_scale: a rounded time scale is another one.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "ops/attention/attention.h"
#include "ops/attention/dispatch.h"

namespace primal::ops {

namespace {

AttentionArguments cast(AttentionArguments a) {
  const at::ScalarType dtype = at::autocast::get_autocast_dtype(at::kCPU);
  TORCH_CHECK_TYPE(dtype != at::kHalf,
                   "primal_attention: autocast to float16 is not supported; use bfloat16, or implementation=\"plain\"");
  for (at::Tensor* tensor : {&a.query, &a.q_weight, &a.k_weight, &a.score_weight, &a.out_weight}) {
    *tensor = at::autocast::cached_cast(dtype, *tensor, at::kCPU);
  }
  for (OptionalTensor* tensor : {&a.key, &a.q_bias, &a.k_bias, &a.score_bias, &a.out_bias}) {
    if (*tensor) *tensor = at::autocast::cached_cast(dtype, **tensor, at::kCPU);
  }
  return a;
}

template <typename Call>
auto under_autocast(const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  return call();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_autocast(PRIMAL_ATTENTION_PARAMETERS) {
  return under_autocast([&] {
    const AttentionArguments a = cast(PRIMAL_ATTENTION_STRUCT);
    return attention_operator().call(PRIMAL_ATTENTION_FIELDS(a));
  });
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_scores_autocast(PRIMAL_ATTENTION_PARAMETERS) {
  return under_autocast([&] {
    const AttentionArguments a = cast(PRIMAL_ATTENTION_STRUCT);
    return attention_scores_operator().call(PRIMAL_ATTENTION_FIELDS(a));
  });
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_step_autocast(PRIMAL_ATTENTION_PARAMETERS,
                                                                                   const at::Tensor& q_sum,
                                                                                   const at::Tensor& k_sum,
                                                                                   const at::Tensor& count) {
  return under_autocast([&] {
    const AttentionArguments a = cast(PRIMAL_ATTENTION_STRUCT);
    return attention_step_operator().call(PRIMAL_ATTENTION_FIELDS(a), q_sum, k_sum, count);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(primal, AutocastCPU, m) {
  m.impl("attention", attention_autocast);
  m.impl("attention_scores", attention_scores_autocast);
  m.impl("attention_step", attention_step_autocast);
}

}  // namespace primal::ops
