#include "support/ksvd_solution.h"

#include <torch/types.h>

#include "support/attention.h"

namespace primal::tests {

namespace {

using torch::Tensor;

// [1, N, D] -> [H, N, d]
Tensor by_head(const Tensor& x, int64_t heads) {
  return x[0].view({x.size(1), heads, x.size(2) / heads}).transpose(0, 1);
}

Tensor mean_of_the_past(const Tensor& x) {
  return x.cumsum(1) / torch::arange(1, x.size(1) + 1, x.options()).view({1, -1, 1});
}

}  // namespace

KernelMatrix kernel_matrix(const PrimalAttentionImpl& layer, const Tensor& x) {
  const torch::NoGradGuard no_grad;
  const PrimalAttentionOptions& o = layer.options();
  const auto features = [&](torch::nn::Linear projection) {
    const Tensor u = projection(x);
    return plain_cosine(by_head(o.causal ? mean_of_the_past(u) : u, o.heads));
  };
  KernelMatrix result{features(layer.q_proj), features(layer.k_proj), {}, {}};
  const Tensor& q = result.phi_q;
  const Tensor k = result.phi_k.transpose(1, 2);
  if (!o.data_dependent.value_or(true)) {
    result.k = q.matmul(k);
    return result;
  }
  std::vector<int64_t> rows;
  const int64_t n = layer.we.size(1);
  for (int64_t i = 0; i < n; ++i) rows.push_back(n == 1 ? 0 : i * (x.size(1) - 1) / (n - 1));
  result.f = by_head(x, o.heads).index_select(1, torch::tensor(rows));
  result.k = q.matmul(result.f.transpose(1, 2)).matmul(result.f).matmul(k);
  return result;
}

Tensor set_to_kernel_svd(PrimalAttentionImpl& layer, const Tensor& x, int64_t first) {
  const torch::NoGradGuard no_grad;
  const KernelMatrix kernel = kernel_matrix(layer, x);
  auto [u, s, vh] = at::linalg_svd(kernel.k, /*full_matrices=*/false);
  const int64_t rank = layer.options().rank;
  const Tensor values = s.narrow(1, first, rank);
  const auto weights = [&](const Tensor& features, const Tensor& vectors) {
    const Tensor w = features.transpose(1, 2).matmul(vectors);
    return kernel.f.defined() ? kernel.f.matmul(w) : w;
  };
  layer.we.copy_(weights(kernel.phi_k, vh.narrow(1, first, rank).transpose(1, 2)));
  layer.wr.copy_(weights(kernel.phi_q, u.narrow(2, first, rank)));
  layer.lam.copy_((static_cast<double>(x.size(1)) / values).sqrt());
  return values;
}

}  // namespace primal::tests
