// Linear attention: the kernel phi(q) . phi(k) with phi(x) = elu(x) + 1 (Katharopoulos et al., ICML 2020), and the form
// without a normaliser that the Long Range Arena code of Nystromformer compares with.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// Means of the values with the kernel's weights: sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + 1e-6).
/// causal: over j <= i; past: tokens before these (null: none), moved on. -> [B, H, N, d]
torch::Tensor linear_attention(const Heads& heads, const std::optional<torch::Tensor>& padding, bool causal = false,
                               Past* past = nullptr);

/// sum_j (a_i . b_j) v_j / sqrt(N), where a, b are features of q and k. N: real tokens of the sample (Masking::right),
/// or all of them. -> [B, H, N, d]
torch::Tensor unnormalised_attention(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& v,
                                     const std::optional<torch::Tensor>& padding, Masking masking);

/// elu(x) + 1
torch::Tensor positive_features(const torch::Tensor& x);

/// The kind "linear".
std::unique_ptr<Attention> make_linear_attention(const AttentionOptions& options);

}  // namespace primal::nn
