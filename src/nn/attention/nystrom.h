// Nystromformer (Xiong et al., AAAI 2021): a softmax through a few landmarks, the means of runs of tokens, plus a
// convolution of the values. Linear in the number of tokens.
#pragma once

#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// softmax(q Lk^T) Z softmax(Lq k^T) v, with q and k times d^(-1/4), Lq and Lk their landmarks and Z an approximate
/// inverse of softmax(Lq Lk^T). -> [B, H, N, d]
///
/// Masking::right: landmarks are means over runs, as equal as can be, of the sample's own tokens; a sample with no more
/// tokens than landmarks gets its exact softmax. Masking::published: runs of N / landmarks tokens, padded ones as 0.
torch::Tensor nystrom_attention(const Heads& heads, const NystromKindOptions& options,
                                const std::optional<torch::Tensor>& padding, Masking masking);

/// The sum over the tokens around each, depth-wise. v: [B, H, N, d]; weight: [H, 1, kernel, 1], of all channels of a
/// head
torch::Tensor convolved_values(const torch::Tensor& v, const torch::Tensor& weight);

/// Z -> Z (13 - K Z (15 - K Z (7 - K Z))) / 4, begun with K^T / (largest column sum). Rows of K add up to 1 and none is
/// below 0, so it approaches the (pseudo-)inverse of K, [.., m, m], with an error to the third power.
torch::Tensor iterated_inverse(const torch::Tensor& matrix, int64_t iterations, NystromStart start);

/// The kind "nystrom".
std::unique_ptr<Attention> make_nystrom_attention(const AttentionOptions& options);

}  // namespace primal::nn
