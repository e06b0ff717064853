#include "nn/attention/reformer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "primal/error.h"

namespace primal::nn {

namespace {

constexpr double kKeyEpsilon = 1e-6;  // published, like the two scores below
// Instead of -infinity, so that a token which sees no other looks at itself.
constexpr double kPaddedScore = -1e9, kSelfScore = -1e5;

// Real tokens of each sample: [B] int64. x: [B, H, N, d]
torch::Tensor own_lengths(const torch::Tensor& x, const std::optional<torch::Tensor>& padding) {
  return padding ? padding->logical_not().sum(1) : at::full({x.size(0)}, x.size(2), at::kLong);
}

// x / |x|, but for the epsilon.
torch::Tensor unit_keys(const torch::Tensor& x) {
  const double root = std::sqrt(static_cast<double>(x.size(-1)));
  return x * ((x.square().mean(-1, /*keepdim=*/true) + kKeyEpsilon).rsqrt() / root);
}

struct RoundResult {
  torch::Tensor out;     // [.., queries, d]
  torch::Tensor weight;  // [.., queries], the logarithm of the sum of exp(scores)
};

// q: [.., queries, d]; k, v: [.., keys, d]; same: [.., queries, keys], key and query are one token; hidden: [.., keys]
RoundResult attend_to_keys(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           const torch::Tensor& same, const torch::Tensor& hidden, double dropout) {
  torch::Tensor scores = q.matmul(k.transpose(-1, -2));
  if (hidden.defined()) scores.masked_fill_(hidden.unsqueeze(-2), kPaddedScore);
  scores.masked_fill_(same, kSelfScore);
  return {.out = at::dropout(scores.softmax(-1), dropout, /*train=*/dropout > 0).matmul(v),
          .weight = scores.logsumexp(-1)};
}

// All tokens at once.
torch::Tensor attend_to_all(const torch::Tensor& qk, const torch::Tensor& v,
                            const std::optional<torch::Tensor>& padding, double dropout) {
  const torch::Tensor same = at::eye(qk.size(2), qk.options().dtype(at::kBool));
  return attend_to_keys(qk, unit_keys(qk), v, same, padding ? padding->unsqueeze(1) : torch::Tensor(), dropout).out;
}

// The tokens of every sample, head and round in the order of their buckets, cut in chunks.
class SortedChunks {
 public:
  // buckets: [B, H, R, N]; last: [B], the chunk that the first one looks back at; chunk divides N
  SortedChunks(const torch::Tensor& buckets, const torch::Tensor& last, int64_t chunk)
      : shape_(buckets.sizes().vec()), chunk_(chunk) {
    const int64_t samples = shape_[0], heads = shape_[1], rounds = shape_[2], tokens = shape_[3];
    const int64_t chunks = tokens / chunk;
    const torch::Tensor head = at::arange(samples * heads).view({samples, heads, 1, 1});
    const torch::Tensor round = at::arange(rounds).view({rounds, 1});
    order_ = std::get<1>(buckets.sort(/*stable=*/true, -1, /*descending=*/false));
    row_ = (head * tokens + order_).flatten();
    const torch::Tensor place = at::empty_like(order_).scatter_(-1, order_, at::arange(tokens).expand_as(order_));
    place_ = ((head * rounds + round) * tokens + place).flatten();
    const torch::Tensor round_before = (round + rounds - 1).remainder(rounds);
    const torch::Tensor before_first = (head * rounds + round_before) * chunks + last.view({-1, 1, 1, 1});
    const torch::Tensor before_others = (head * rounds + round) * chunks + at::arange(chunks - 1);
    before_ = at::cat({before_first, before_others}, -1).flatten();
  }

  // [B, H, N, ...] -> [B H R chunks, chunk, ...]
  torch::Tensor sorted(const torch::Tensor& x) const {
    return x.flatten(0, 2).index_select(0, row_).unflatten(0, {-1, chunk_});
  }
  // A chunk behind the one that it looks back at: [n, chunk, ...] -> [n, 2 chunk, ...]
  torch::Tensor with_chunk_before(const torch::Tensor& x) const { return at::cat({x.index_select(0, before_), x}, 1); }
  // [n, chunk, ...] -> [B, H, R, N, ...], in the order of the sequence
  torch::Tensor unsorted(const torch::Tensor& x) const {
    return x.flatten(0, 1).index_select(0, place_).unflatten(0, shape_);
  }
  // The number of each token in its sequence: [n, chunk]
  torch::Tensor tokens() const { return order_.reshape({-1, chunk_}); }

 private:
  std::vector<int64_t> shape_;
  int64_t chunk_;
  torch::Tensor order_;   // [B, H, R, N], the token at each sorted place
  torch::Tensor row_;     // [B H R N], the same as a row of [B H N]
  torch::Tensor place_;   // [B H R N], the sorted place of each token, as a row of [B H R N]
  torch::Tensor before_;  // [B H R chunks], the chunk that a chunk looks back at
};

// qk, v: [B, H, N, d], N a whole number of chunks
torch::Tensor attend_in_chunks(const torch::Tensor& qk, const torch::Tensor& v,
                               const std::optional<torch::Tensor>& padding, const ReformerMath& math) {
  const torch::Tensor lengths = own_lengths(qk, math.masking == Masking::right ? padding : std::nullopt);
  const torch::Tensor last = (lengths.clamp_min(1) - 1).div(math.chunk, "floor");
  const auto buckets = reformer_buckets(qk, padding, math.chunk, math.masking);
  const SortedChunks chunks(lsh_buckets(qk.detach(), math.rotations, buckets, padding), last, math.chunk);

  const auto keys_of = [&](const torch::Tensor& x) { return chunks.with_chunk_before(chunks.sorted(x)); };
  const torch::Tensor same = chunks.with_chunk_before(chunks.tokens()).unsqueeze(1) == chunks.tokens().unsqueeze(2);
  const torch::Tensor hidden = padding ? keys_of(padding->unsqueeze(1).expand({-1, qk.size(1), -1})) : torch::Tensor();
  const RoundResult sorted =
      attend_to_keys(chunks.sorted(qk), keys_of(unit_keys(qk)), keys_of(v), same, hidden, math.dropout);
  const torch::Tensor share = chunks.unsorted(sorted.weight).softmax(2).unsqueeze(-1);
  return (chunks.unsorted(sorted.out) * share).sum(2);
}

class ReformerMixing : public ValueMixing {
 public:
  explicit ReformerMixing(const AttentionOptions& o) : own_(o.reformer), masking_(o.masking), dropout_(o.dropout) {}

  bool has_keys() const override { return false; }
  bool has_input_biases() const override { return false; }

  torch::Tensor mix(torch::nn::Module& module, const Heads& heads,
                    const std::optional<torch::Tensor>& padding) const override {
    const torch::Tensor& qk = heads.q;
    // One number of torch's generator, whatever the batch: a resumed run draws the same.
    const uint64_t seed =
        module.is_training()
            ? static_cast<uint64_t>(at::randint(std::numeric_limits<int64_t>::max(), {}, at::kLong).item<int64_t>())
            : own_.seed;
    ReformerMath math{.chunk = own_.chunk, .masking = masking_, .dropout = module.is_training() ? dropout_ : 0.0};
    if (qk.size(2) > own_.chunk) {
      math.rotations = draw_rotations(seed, qk.size(1), qk.size(3), own_.hashes,
                                      reformer_buckets(qk, padding, own_.chunk, masking_));
    }
    return reformer_attention(qk, heads.v, padding, math);
  }

 private:
  ReformerKindOptions own_;
  Masking masking_;
  double dropout_;
};

}  // namespace

std::vector<BucketFactors> reformer_buckets(const torch::Tensor& x, const std::optional<torch::Tensor>& padding,
                                            int64_t chunk, Masking masking) {
  const torch::Tensor lengths = own_lengths(x, masking == Masking::right ? padding : std::nullopt);
  std::vector<BucketFactors> buckets;
  for (int64_t b = 0; b < x.size(0); ++b) buckets.push_back(bucket_factors(lengths[b].item<int64_t>(), chunk));
  return buckets;
}

torch::Tensor reformer_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                 const std::optional<torch::Tensor>& padding, const ReformerMath& math) {
  if (v.numel() == 0) return at::zeros_like(v);
  const torch::Tensor values = math.masking == Masking::right ? cleared(v, padding) : v;
  const int64_t tokens = qk.size(2), missing = (math.chunk - tokens % math.chunk) % math.chunk;
  if (tokens <= math.chunk) return attend_to_all(qk, values, padding, math.dropout);
  if (missing == 0) return attend_in_chunks(qk, values, padding, math);
  const auto filled = [&](const torch::Tensor& x) { return at::constant_pad_nd(x, {0, 0, 0, missing}); };
  const torch::Tensor known = padding ? *padding : at::zeros({qk.size(0), tokens}, at::kBool);
  return attend_in_chunks(filled(qk), filled(values), at::constant_pad_nd(known, {0, missing}, true), math)
      .narrow(2, 0, tokens);
}

std::unique_ptr<Attention> make_reformer_attention(const AttentionOptions& options) {
  check_options("reformer", options);
  refuse_causal("reformer", options);
  const ReformerKindOptions& o = options.reformer;
  if (o.hashes < 1) throw Error(c10::str("reformer_attention: hashes must be at least 1, got ", o.hashes));
  if (o.chunk < 1) throw Error(c10::str("reformer_attention: chunk must be at least 1, got ", o.chunk));
  return make_value_mixing_attention(options, std::make_shared<ReformerMixing>(options));
}

}  // namespace primal::nn
