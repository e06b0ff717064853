// Flow-Attention (Wu et al., "Flowformer: Linearizing Transformers with Conservation Flows", ICML 2022): attention as a
// flow from sources (keys) to sinks (queries) that is conserved on both sides. Linear in the number of tokens.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// The flows of tokens that see both ways, each [B, H, N].
struct Flows {
  torch::Tensor incoming;       ///< I_i = a_i . sum b, what reaches sink i
  torch::Tensor outgoing;       ///< O_j = b_j . sum a, what leaves source j
  torch::Tensor kept_incoming;  ///< I^_i = a_i . sum b_j / O_j, if every source gives 1: they add up to the tokens
  torch::Tensor kept_outgoing;  ///< O^_j = b_j . sum a_i / I_i, if every sink takes 1: they add up to the tokens
};

/// a = sigmoid(q), b = sigmoid(k): [B, H, N, d], 0 at padded tokens
Flows conserved_flows(const torch::Tensor& a, const torch::Tensor& b);

/// out_i = sigmoid(I^_i) (a_i / I_i)^T sum_j b_j (v_j n softmax_j(O^)), O^ clamped to +-clamp if there is one; n: the
/// real tokens of the sample, and padded ones neither give nor take. No published code knows padding.
torch::Tensor flow_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                             std::optional<double> clamp);

/// The published causal form. With t the real tokens so far, every sum is over j <= i, 1/I and 1/O are multiplied by t,
/// I^ and O^ divided by it, and a source competes with those before it. The I and O in a sum are those of their own
/// time, so this is not flow_attention behind a mask. past: tokens before these (null: none), moved on.
torch::Tensor causal_flow_attention(const Heads& heads, const std::optional<torch::Tensor>& padding,
                                    std::optional<double> clamp, Past* past = nullptr);

/// The kind "flow".
std::unique_ptr<Attention> make_flow_attention(const AttentionOptions& options);

}  // namespace primal::nn
