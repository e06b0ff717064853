#include "analysis/ksvd_factors.h"

#include <ATen/ATen.h>

#include <vector>

#include "analysis/row_triangle.h"
#include "nn/primal_attention_arguments.h"
#include "ops/attention/pass.h"

namespace primal::analysis {

namespace {

// The arguments that scores depend on, in double: small singular values drown in the rounding of a float.
ops::AttentionArguments widened(ops::AttentionArguments a) {
  const auto widen = [](at::Tensor& tensor) { tensor = tensor.to(at::kDouble); };
  const auto widen_if_any = [&](ops::OptionalTensor& tensor) {
    if (tensor) widen(*tensor);
  };
  widen(a.query);
  widen(a.q_weight);
  widen(a.k_weight);
  widen(a.we);
  widen(a.wr);
  widen_if_any(a.q_bias);
  widen_if_any(a.k_bias);
  widen_if_any(a.log_scale);
  return a;
}

// [1, H, N, p] -> [1, H, p, p], zero rows where there are fewer tokens than features.
at::Tensor square_triangle(const at::Tensor& features, const ops::OptionalTensor& left_out) {
  const at::Tensor counted = left_out ? features.masked_fill(left_out->view({1, 1, -1, 1}), 0) : features;
  const at::Tensor triangle = row_triangle(counted);
  return at::constant_pad_nd(triangle, {0, 0, 0, triangle.size(-1) - triangle.size(-2)});
}

struct SampleParts {
  std::vector<at::Tensor> q, k, rows, tokens;
};

void add_sample(const ops::AttentionArguments& a, SampleParts& parts) {
  const ops::AttentionPass pass = ops::run_scores(a);
  const int64_t tokens = a.query.size(1) - (pass.query_out ? pass.query_out->sum().item<int64_t>() : 0);
  if (tokens == 0) return;
  parts.q.push_back(square_triangle(pass.query_f, pass.query_out));
  parts.k.push_back(square_triangle(pass.key_f, pass.key_out));
  if (a.mode.data_dependent) parts.rows.push_back(pass.rows_f);
  parts.tokens.push_back(at::full({1}, static_cast<double>(tokens), at::kDouble));
}

void put_core(KsvdFactors& factors) {
  const at::Tensor right_part = factors.k.transpose(-2, -1);
  factors.core = factors.f.defined()
                     ? at::matmul(at::matmul(factors.q, factors.f.transpose(-2, -1)), at::matmul(factors.f, right_part))
                     : at::matmul(factors.q, right_part);
  auto [left, values, right] = at::linalg_svd(factors.core, /*full_matrices=*/false);
  factors.left = left;
  factors.singular_values = values;
  factors.right = right.transpose(-2, -1);
  if (factors.f.defined()) factors.f_range = orthonormal_columns(factors.f);
}

}  // namespace

KsvdFactors joined(const std::vector<KsvdFactors>& parts) {
  std::vector<at::Tensor> q, k, tokens;
  for (const KsvdFactors& part : parts) {
    const bool has_own_weights = part.f.defined() || part.sampled.defined();
    if (has_own_weights) throw Error("ksvd: samples with weights of their own are not joined");
    q.push_back(part.q);
    k.push_back(part.k);
    tokens.push_back(part.tokens);
  }
  // [B, H, p, p] -> [1, H, p, p]
  const auto triangle = [](const std::vector<at::Tensor>& triangles) {
    return row_triangle(at::cat(triangles).transpose(0, 1).flatten(1, 2)).unsqueeze(0);
  };
  KsvdFactors one{.q = triangle(q), .k = triangle(k), .tokens = at::cat(tokens).sum().view({1})};
  put_core(one);
  return one;
}

at::Tensor orthonormal_columns(const at::Tensor& x) {
  auto [left, values, right] = at::linalg_svd(x, /*full_matrices=*/false);
  const at::Tensor real = values > kRounding * values.amax(-1, /*keepdim=*/true);
  return left * real.unsqueeze(-2);
}

std::optional<KsvdFactors> ksvd_factors(const PrimalAttentionImpl& layer, const at::Tensor& input,
                                        const std::optional<at::Tensor>& padding) {
  const at::NoGradGuard no_grad;
  const int64_t features =
      find_feature_map(layer.options().feature_map)->width(layer.options().width / layer.options().heads);
  if (features > kMostHeadFeatures) {
    throw Error(c10::str("ksvd: a head has ", features, " features, expected at most ", kMostHeadFeatures));
  }
  ops::AttentionArguments a = widened(nn::attention_arguments(layer, input.narrow(0, 0, 0), {}));
  SampleParts parts;
  for (int64_t b = 0; b < input.size(0); ++b) {
    a.query = input.narrow(0, b, 1).to(at::kDouble);
    if (padding) a.query_padding = padding->narrow(0, b, 1);
    add_sample(a, parts);
  }
  if (parts.tokens.empty()) return std::nullopt;
  KsvdFactors factors{.q = at::cat(parts.q), .k = at::cat(parts.k), .tokens = at::cat(parts.tokens)};
  if (!parts.rows.empty()) (a.mode.trace_on_data ? factors.sampled : factors.f) = at::cat(parts.rows);
  put_core(factors);
  return factors;
}

}  // namespace primal::analysis
