// Reformer (Kitaev et al., "Reformer: The Efficient Transformer", ICLR 2020): a softmax among tokens whose hashes are
// near, with keys that are the queries at unit length. Grows with the number of tokens times the size of a chunk.
#pragma once

#include "nn/attention/lsh.h"
#include "nn/attention/value_mixing.h"

namespace primal::nn {

/// How tokens are hashed and cut.
struct ReformerMath {
  LshRotations rotations{};  ///< for the buckets of reformer_buckets()
  int64_t chunk = 64;
  Masking masking = Masking::right;
  double dropout = 0;  ///< of the weights
};

/// The buckets of each sample: by its own length (Masking::right), or by that of the batch.
std::vector<BucketFactors> reformer_buckets(const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                                            int64_t chunk, Masking masking);

/// qk, v: [B, H, N, d] -> [B, H, N, d]. In each round the tokens are sorted by bucket, padded ones last, and cut in
/// chunks; a chunk looks at itself and at the one before, the first one at the last chunk of the round before (of the
/// last round, if it is the first). Scores are qk_i . qk_j / |qk_j|; a token looks at itself only if there is no other.
/// Rounds are averaged with the weights exp(log of the sum of exp(scores)).
///
/// Masking::right: a sample's chunks are those it would have alone, so the last one is that of its last real token.
/// Sequences of one chunk see all of their tokens, without any hashes.
torch::Tensor reformer_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                 const std::optional<torch::Tensor>& padding, const ReformerMath& math);

/// The kind "reformer". Queries and keys share q_proj, which has no bias, nor has v_proj; no causal form.
std::unique_ptr<Attention> make_reformer_attention(const AttentionOptions& options);

}  // namespace primal::nn
