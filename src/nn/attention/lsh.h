// Locality-sensitive hashing of tokens (Kitaev et al., "Reformer", ICLR 2020): vectors of similar direction mostly get
// the same bucket. Hashes have no gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace primal::nn {

/// The number of buckets of a sequence, as two factors: bucket = first one + first * second one.
struct BucketFactors {
  int64_t first = 2, second = 1;

  int64_t count() const { return first * second; }
};

/// The largest power of two that is at most twice the number of chunks, the last of which need not be full. Above
/// 2 chunk it has two factors, as published, so that the work per token grows with its root.
BucketFactors bucket_factors(int64_t tokens, int64_t chunk);

/// Random directions, one column per pair of buckets: a direction and its opposite.
struct LshRotations {
  at::Tensor first;     ///< [H, d, rounds, at least first / 2 columns]
  at::Tensor second{};  ///< the same for the second factor; undefined if it is always 1
};

/// Gaussian rotations of `seed` for all these samples, float64. Column c is the same however many there are: the hash
/// of a sample does not depend on the others.
LshRotations draw_rotations(uint64_t seed, int64_t heads, int64_t width, int64_t rounds,
                            const std::vector<BucketFactors>& buckets);

/// The bucket of each token in each round, [B, H, rounds, N] int64; padded tokens have bucket number count().
/// x: [B, H, N, d]; buckets: of each of the B samples; padding: [B, N]
at::Tensor lsh_buckets(const at::Tensor& x, const LshRotations& rotations, const std::vector<BucketFactors>& buckets,
                       const std::optional<at::Tensor>& padding);

}  // namespace primal::nn
