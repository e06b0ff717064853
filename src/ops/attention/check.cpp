#include "ops/attention/check.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include "ops/sampling.h"
#include "primal/error.h"
#include "primal/feature_map.h"

namespace primal::ops {

namespace {

using Sizes = std::vector<c10::SymInt>;

void check_sizes(const at::Tensor& tensor, const char* name, const char* form, const Sizes& expected) {
  const auto sizes = tensor.sym_sizes();
  bool equal = sizes.size() == expected.size();
  for (size_t i = 0; equal && i < expected.size(); ++i) equal = TORCH_GUARD_OR_TRUE(sizes[i].sym_eq(expected[i]));
  TORCH_CHECK_VALUE(equal, "primal_attention: ", name, " must be ", form, " = ", c10::SymIntArrayRef(expected),
                    ", got ", sizes);
}

void check_sizes(const OptionalTensor& tensor, const char* name, const char* form, const Sizes& expected) {
  if (tensor) check_sizes(*tensor, name, form, expected);
}

void check_one_dtype(const at::Tensor& tensor, const char* name, at::ScalarType expected) {
  TORCH_CHECK_TYPE(tensor.scalar_type() == expected, "primal_attention: ", name, " is ", tensor.scalar_type(),
                   " but query is ", expected);
}

void check_dtypes(const AttentionArguments& a) {
  const at::ScalarType dtype = a.query.scalar_type();
  TORCH_CHECK_TYPE(dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16,
                   "primal_attention: query must be float32, float64 or bfloat16, got ", dtype);
  check_one_dtype(a.keys(), "key", dtype);
  check_one_dtype(a.q_weight, "q_weight", dtype);
  check_one_dtype(a.k_weight, "k_weight", dtype);
  check_one_dtype(a.score_weight, "score_weight", dtype);
  check_one_dtype(a.out_weight, "out_weight", dtype);
  if (a.q_bias) check_one_dtype(*a.q_bias, "q_bias", dtype);
  if (a.k_bias) check_one_dtype(*a.k_bias, "k_bias", dtype);
  if (a.score_bias) check_one_dtype(*a.score_bias, "score_bias", dtype);
  if (a.out_bias) check_one_dtype(*a.out_bias, "out_bias", dtype);
  // The first three make the KSVD terms, which are summed in float32: autocast leaves them as they are.
  const auto check_kept = [&](const at::Tensor& tensor, const char* name) {
    const bool kept = dtype == at::kBFloat16 && tensor.scalar_type() == at::kFloat;
    if (!kept) check_one_dtype(tensor, name, dtype);
  };
  check_kept(a.we, "we");
  check_kept(a.wr, "wr");
  check_kept(a.lam, "lam");
  if (a.log_scale) check_kept(*a.log_scale, "log_scale");
  for (const auto& [mask, name] :
       {std::pair{&a.query_padding, "query_padding_mask"}, {&a.key_padding, "key_padding_mask"}}) {
    TORCH_CHECK_TYPE(!*mask || (*mask)->scalar_type() == at::kBool, "primal_attention: ", name,
                     " must be bool (true = padded), got ", (*mask)->scalar_type());
  }
}

void check_devices(const AttentionArguments& a) {
  const auto check = [&](const OptionalTensor& tensor, const char* name) {
    TORCH_CHECK_VALUE(!tensor || tensor->device() == a.query.device(), "primal_attention: ", name, " is on ",
                      tensor->device(), " but query is on ", a.query.device());
  };
  check(a.key, "key");
  check(a.q_weight, "q_weight");
  check(a.q_bias, "q_bias");
  check(a.k_weight, "k_weight");
  check(a.k_bias, "k_bias");
  check(a.we, "we");
  check(a.wr, "wr");
  check(a.lam, "lam");
  check(a.score_weight, "score_weight");
  check(a.score_bias, "score_bias");
  check(a.out_weight, "out_weight");
  check(a.out_bias, "out_bias");
  check(a.query_padding, "query_padding_mask");
  check(a.key_padding, "key_padding_mask");
  check(a.log_scale, "log_scale");
}

void check_mode(const AttentionArguments& a) {
  sampling_of(a.mode.sampling);
  TORCH_CHECK_VALUE(!(a.mode.causal && a.mode.data_dependent),
                    "primal_attention: causal attention needs data-independent weights: data-dependent ones are made "
                    "from the whole sequence");
  TORCH_CHECK_VALUE(!(a.mode.causal && a.key),
                    "primal_attention: causal attention takes one sequence, got a key as well");
  TORCH_CHECK_VALUE(a.key || !a.key_padding,
                    "primal_attention: key_padding without a key; self-attention takes query_padding");
  TORCH_CHECK_VALUE(a.mode.causal || !a.log_scale,
                    "primal_attention: only causal attention has a memory that fades, got log_scale without causal");
}

// The number of features, which only a few maps make differ from the head's width.
c10::SymInt feature_width(const AttentionArguments& a, const c10::SymInt& head_width) {
  try {
    return find_feature_map(a.mode.feature_map)->width(head_width.guard_int(__FILE__, __LINE__));
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, "primal_attention: ", error.what());
  }
}

// D. The weights know it: a query of another width is the query's mistake, unless q_weight is not square itself.
c10::SymInt width_of(const AttentionArguments& a) {
  const bool square = a.q_weight.dim() == 2 && a.q_weight.sym_size(0) == a.q_weight.sym_size(1);
  return square ? a.q_weight.sym_size(0) : a.query.sym_size(2);
}

void check_log_scale(const at::Tensor& log_scale, const c10::SymInt& width) {
  TORCH_CHECK_VALUE(log_scale.dim() == 1 && log_scale.sym_size(0) > 0 && width % log_scale.sym_size(0) == 0,
                    "primal_attention: log_scale must be [G] with a G that divides the width ", width, ", got ",
                    log_scale.sym_sizes());
}

}  // namespace

void check_attention(const AttentionArguments& a) {
  check_mode(a);
  check_devices(a);
  check_dtypes(a);
  TORCH_CHECK_VALUE(a.query.dim() == 3, "primal_attention: query must be [B, N, D], got ", a.query.sym_sizes());
  TORCH_CHECK_VALUE(a.keys().dim() == 3, "primal_attention: key must be [B, N, D], got ", a.keys().sym_sizes());
  TORCH_CHECK_VALUE(a.we.dim() == 3, "primal_attention: we must be [H, rows, s], got ", a.we.sym_sizes());

  const c10::SymInt batch = a.query.sym_size(0), width = width_of(a);
  const c10::SymInt heads = a.we.sym_size(0), rank = a.we.sym_size(2);
  TORCH_CHECK_VALUE(heads > 0 && width % heads == 0, "primal_attention: width ", width, " is not divisible by ", heads,
                    " heads");
  TORCH_CHECK_VALUE(rank > 0, "primal_attention: rank must be at least 1, got ", rank);
  const c10::SymInt head_width = width / heads;
  const c10::SymInt features = feature_width(a, head_width);
  const c10::SymInt rows = a.mode.data_dependent ? a.we.sym_size(1) : features;
  TORCH_CHECK_VALUE(rows > 0, "primal_attention: at least one row must be sampled, got ", rows);

  check_sizes(a.query, "query", "[B, N, D]", {batch, a.query.sym_size(1), width});
  check_sizes(a.keys(), "key", "[B, Nk, D]", {batch, a.keys().sym_size(1), width});
  check_sizes(a.q_weight, "q_weight", "[D, D]", {width, width});
  check_sizes(a.k_weight, "k_weight", "[D, D]", {width, width});
  check_sizes(a.out_weight, "out_weight", "[D, D]", {width, width});
  check_sizes(a.q_bias, "q_bias", "[D]", {width});
  check_sizes(a.k_bias, "k_bias", "[D]", {width});
  check_sizes(a.out_bias, "out_bias", "[D]", {width});
  check_sizes(a.we, "we", a.mode.data_dependent ? "[H, n, s]" : "[H, features, s]", {heads, rows, rank});
  check_sizes(a.wr, "wr", "the shape of we", {heads, rows, rank});
  check_sizes(a.lam, "lam", "[H, s]", {heads, rank});
  check_sizes(a.score_weight, "score_weight", "[d, 2s]", {head_width, rank * 2});
  check_sizes(a.score_bias, "score_bias", "[d]", {head_width});
  check_sizes(a.query_padding, "query_padding_mask", "[B, Nq]", {batch, a.query.sym_size(1)});
  check_sizes(a.key_padding, "key_padding_mask", "[B, Nk]", {batch, a.keys().sym_size(1)});
  if (a.log_scale) check_log_scale(*a.log_scale, width);
}

void check_step(const AttentionArguments& a, const at::Tensor& q_sum, const at::Tensor& k_sum,
                const at::Tensor& count) {
  TORCH_CHECK_VALUE(a.mode.causal, "primal_attention: only a causal layer has a state");
  for (const at::Tensor* tensor : {&q_sum, &k_sum, &count}) {
    TORCH_CHECK_VALUE(tensor->device() == a.query.device(), "primal_attention: the state is on ", tensor->device(),
                      " but query is on ", a.query.device());
  }
  const c10::SymInt batch = a.query.sym_size(0), width = a.query.sym_size(2);
  check_sizes(q_sum, "state q_sum", "[B, D]", {batch, width});
  check_sizes(k_sum, "state k_sum", "[B, D]", {batch, width});
  check_sizes(count, "state count", "[B]", {batch});
  TORCH_CHECK_TYPE(
      q_sum.scalar_type() == at::kDouble && k_sum.scalar_type() == at::kDouble && count.scalar_type() == at::kLong,
      "primal_attention: the state must be float64 sums and an int64 count, got ", q_sum.scalar_type(), ", ",
      k_sum.scalar_type(), " and ", count.scalar_type());
}

at::ScalarType accumulate_dtype(at::ScalarType dtype) { return dtype == at::kBFloat16 ? at::kFloat : dtype; }

}  // namespace primal::ops
