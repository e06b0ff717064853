#include "nn/attention/reformer.h"

#include "nn/attention/kinds.h"
#include "nn/rivals/cases.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;
using tests::error_of;
using tests::same;

// Chunks of 4. q + k is what queries and keys share, so that both have a gradient.
Mix reformer(Masking masking = Masking::right, uint64_t seed = 5, int64_t rounds = 2) {
  return [=](const Heads& heads, const std::optional<Tensor>& padding) {
    const Tensor qk = heads.q + heads.k;
    const auto buckets = reformer_buckets(qk, padding, 4, masking);
    return reformer_attention(
        qk, heads.v, padding,
        {.rotations = draw_rotations(seed, qk.size(1), qk.size(3), rounds, buckets), .chunk = 4, .masking = masking});
  };
}

ReformerMath example_math(int64_t chunk, Masking masking) {
  return {.rotations = {.first = grid({1, 2, 2, 2}, 4)}, .chunk = chunk, .masking = masking};
}

// Softmax of q_i . q_j / |q_j| over all j but i. qk, v: [B, H, N, d]
Tensor plain_shared_attention(const Tensor& qk, const Tensor& v) {
  const Tensor keys = qk / (qk.square().mean(-1, /*keepdim=*/true) + 1e-6).sqrt() / std::sqrt(qk.size(3));
  const Tensor self = torch::eye(qk.size(2), torch::kDouble) * 1e5;
  return (qk.matmul(keys.transpose(-1, -2)) - self).softmax(-1).matmul(v);
}

struct GoldenReformer {
  SafetensorsFile file = golden_attention("reformer");
  Tensor padding = file.tensors.at("mask") == 0;
  ReformerMath math{.rotations = {.first = file.tensors.at("rotations")}, .masking = Masking::published};

  Tensor tensor(const std::string& name) const { return file.tensors.at(name); }
  Tensor merged(const Tensor& x) const { return x.transpose(1, 2).flatten(2); }
};

TEST(ReformerAttention, GivesThePublishedNumbers) {
  const GoldenReformer golden;
  const Tensor qk = golden.tensor("qk").clone().requires_grad_(), v = golden.tensor("v").clone().requires_grad_();
  const Tensor out = golden.merged(reformer_attention(qk, v, golden.padding, golden.math));
  EXPECT_TRUE(close(out, golden.tensor("out"), 1e-11));
  (out * golden.tensor("w")).mean().backward();
  const double scale = golden.tensor("grad.qk").abs().max().item<double>();
  EXPECT_TRUE(close(qk.grad() / scale, golden.tensor("grad.qk") / scale, 1e-10));
  EXPECT_TRUE(close(v.grad() / scale, golden.tensor("grad.v") / scale, 1e-10));
}

TEST(ReformerAttention, GivesThePublishedBuckets) {
  const GoldenReformer golden;
  const auto buckets = reformer_buckets(golden.tensor("qk"), golden.padding, 64, Masking::published);
  EXPECT_EQ(buckets.at(0).count(), 4);
  // Published numbers go on from round to round; with padding a round has a bucket more.
  const Tensor round = torch::arange(2).view({1, 1, 2, 1}) * 5;
  EXPECT_TRUE(same(lsh_buckets(golden.tensor("qk"), golden.math.rotations, buckets, golden.padding) + round,
                   golden.tensor("bucket_of_token")));
}

TEST(ReformerAttention, GivesTheWorkedExamples) {
  const Heads heads = example();
  EXPECT_TRUE(close(reformer_attention(heads.q, heads.v, std::nullopt, example_math(4, Masking::published)),
                    printed({.192101, -.391329, .112541, .115553, .217790, -.103641, -.204563, .326316,  //
                             .093639, -.464727, -.033135, .006930, .090942, -.190568, .291127, -.311592}),
                    kSixDigits));
  EXPECT_TRUE(close(reformer_attention(heads.q, heads.v, two_padded(), example_math(4, Masking::published)),
                    printed({.364896, -.260981, .238869, .053199, .595794, -.204206, .287595, .036978,  //
                             .207845, -.414262, .085369, -.063936, .097913, -.143854, .331096, -.361450}),
                    kSixDigits));
  EXPECT_TRUE(close(reformer_attention(heads.q, heads.v, std::nullopt, example_math(8, Masking::published)),
                    printed({.192101, -.391329, .099776, .069993, .217790, -.103641, -.157794, .311124,  //
                             .093639, -.464727, -.033135, .006930, .090942, -.190568, .291127, -.311592}),
                    kSixDigits));
}

TEST(ReformerAttention, GivesTheWorkedBuckets) {
  const std::vector<BucketFactors> four = {{.first = 4}};
  const LshRotations rotations = example_math(4, Masking::published).rotations;
  const auto rows = [](const std::vector<int64_t>& values) { return torch::tensor(values).view({1, 1, 2, 8}); };
  EXPECT_TRUE(same(lsh_buckets(example().q, rotations, four, std::nullopt),
                   rows({1, 2, 2, 3, 0, 2, 3, 1, 1, 3, 3, 0, 1, 3, 3, 1})));
  EXPECT_TRUE(same(lsh_buckets(example().q, rotations, four, two_padded()),
                   rows({1, 2, 2, 3, 0, 2, 4, 4, 1, 3, 3, 0, 1, 3, 4, 4})));
}

TEST(ReformerAttention, OneOrTwoChunksSeeEverything) {
  for (const int64_t tokens : {1, 2, 3, 4}) {
    const Heads heads = random_heads(2, 3, tokens, 5);
    EXPECT_TRUE(close(reformer()(heads, std::nullopt), plain_shared_attention(heads.q + heads.k, heads.v), 1e-11));
  }
  // With one round the two chunks look at each other.
  const Heads heads = random_heads(2, 3, 8, 5);
  EXPECT_TRUE(close(reformer(Masking::right, 5, /*rounds=*/1)(heads, std::nullopt),
                    plain_shared_attention(heads.q + heads.k, heads.v), 1e-11));
}

TEST(ReformerAttention, ALoneTokenLooksAtItself) {
  const Heads heads = random_heads(2, 3, 9, 5);
  const Tensor padding = torch::arange(9).unsqueeze(0) >= torch::tensor({9, 1}).unsqueeze(1);
  const auto first_of = [](const Tensor& x) { return x[1].narrow(1, 0, 1); };
  EXPECT_TRUE(close(first_of(reformer()(heads, padding)), first_of(heads.v), 1e-12));
}

TEST(ReformerAttention, ASampleIsHashedAndCutAsIfItWereAlone) {
  const Heads heads = random_heads(4, 2, 45, 5);
  const std::vector<int64_t> lengths = {45, 23, 3, 8};
  const Tensor padding = torch::arange(45).unsqueeze(0) >= torch::tensor(lengths).unsqueeze(1);
  const Tensor out = reformer()(heads, padding);
  for (int64_t b = 0; b < 4; ++b) {
    const int64_t length = lengths[b], whole = (length + 3) / 4 * 4;
    const Heads alone = narrowed(narrowed(heads, 0, b, 1), 2, 0, length);
    const Tensor own = out.narrow(0, b, 1).narrow(2, 0, length);
    EXPECT_TRUE(close(own, reformer()(alone, std::nullopt), 1e-12)) << length;
    // Which is what the published code gives for it, padded to whole chunks as that needs.
    if (whole > 45) continue;
    const Heads filled = narrowed(narrowed(heads, 0, b, 1), 2, 0, whole);
    const Tensor behind = torch::arange(whole).ge(length).unsqueeze(0);
    EXPECT_TRUE(close(own, reformer(Masking::published)(filled, behind).narrow(2, 0, length), 1e-12)) << length;
  }
}

TEST(ReformerAttention, GradientsAreThoseOfFiniteDifferences) {
  const Heads heads = random_heads(1, 2, 10, 3);
  const Tensor padding = torch::arange(10).ge(9).unsqueeze(0);
  expect_gradients(reformer(), heads);
  expect_gradients(reformer(), heads, padding);
}

TEST(ReformerAttention, KeepsWhatEveryRivalShould) {
  expect_padding_leaves_no_trace(reformer());
  expect_no_nan_without_tokens(reformer());
  expect_means(reformer());
}

TEST(ReformerAttention, BucketsGrowWithTheSequence) {
  const auto count = [](int64_t tokens) { return bucket_factors(tokens, 64).count(); };
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count(128), 4);
  EXPECT_EQ(count(1024), 32);
  EXPECT_EQ(count(2048), 64);
  EXPECT_EQ(count(4096), 128);
  EXPECT_EQ(bucket_factors(4096, 64).second, 1);
  EXPECT_EQ(bucket_factors(8192, 64).first, 16);
  EXPECT_EQ(bucket_factors(8192, 64).second, 16);
  EXPECT_EQ(bucket_factors(16384, 64).first, 16);
  EXPECT_EQ(bucket_factors(16384, 64).second, 32);
}

TEST(ReformerAttention, TwoFactorsMakeOneNumber) {
  torch::manual_seed(1);
  const Tensor x = torch::randn({2, 1, 500, 6}, torch::kDouble);
  const std::vector<BucketFactors> buckets = {{.first = 4, .second = 8}, {.first = 4, .second = 1}};
  const LshRotations rotations = draw_rotations(3, 1, 6, 1, buckets);
  const Tensor bucket = lsh_buckets(x, rotations, buckets, std::nullopt);
  const Tensor first = lsh_buckets(x, {.first = rotations.first}, {{.first = 4}, {.first = 4}}, std::nullopt);
  const Tensor second = lsh_buckets(x, {.first = rotations.second}, {{.first = 8}, {.first = 8}}, std::nullopt);
  EXPECT_TRUE(same(bucket[0], first[0] + 4 * second[0]));
  EXPECT_TRUE(same(bucket[1], first[1]));
  EXPECT_GT(std::get<0>(at::_unique(bucket[0])).numel(), 16);
}

TEST(ReformerAttention, ColumnsOfRotationsDoNotDependOnTheirNumber) {
  const LshRotations few = draw_rotations(3, 2, 5, 2, {{.first = 4}}),
                     many = draw_rotations(3, 2, 5, 2, {{.first = 64}});
  EXPECT_TRUE(same(few.first, many.first.narrow(3, 0, 2)));
  EXPECT_FALSE(close(few.first, draw_rotations(4, 2, 5, 2, {{.first = 4}}).first, 0.1));
  EXPECT_NEAR(many.first.std().item<double>(), 1, 0.1);
}

std::unique_ptr<Attention> reformer_layer(uint64_t seed) {
  torch::manual_seed(3);
  return make_reformer_attention({.kind = "reformer", .width = 12, .heads = 3, .reformer = {.chunk = 4, .seed = seed}});
}

TEST(ReformerAttention, DrawsInTrainingFromTorchAndInEvaluationFromItsSeed) {
  const auto attention = reformer_layer(1), other = reformer_layer(2);
  const Tensor x = torch::randn({2, 40, 12});
  const auto out = [&](Attention& of) { return of.forward(x, std::nullopt).out; };
  torch::manual_seed(9);
  const Tensor first = out(*attention), second = out(*attention);
  EXPECT_FALSE(close(first, second, 1e-4));
  torch::manual_seed(9);
  EXPECT_TRUE(same(out(*attention), first));
  attention->module()->eval();
  other->module()->eval();
  const Tensor evaluated = out(*attention);
  EXPECT_TRUE(same(out(*attention), evaluated));
  EXPECT_FALSE(close(out(*other), evaluated, 1e-4));
}

TEST(ReformerAttention, QueriesAndKeysShareAProjectionWithoutBias) {
  const auto names = reformer_layer(1)->module()->named_parameters().keys();
  EXPECT_EQ(names, (std::vector<std::string>{"q_proj.weight", "v_proj.weight", "out_proj.weight", "out_proj.bias"}));
}

TEST(ReformerAttention, OptionsAreChecked) {
  const auto message_with = [](const AttentionOptions& options) {
    return error_of([&] { make_reformer_attention(options); });
  };
  EXPECT_EQ(message_with({.kind = "reformer", .width = 8, .causal = true}),
            "reformer_attention: this kind has no causal form");
  EXPECT_EQ(message_with({.kind = "reformer", .width = 8, .reformer = {.hashes = 0}}),
            "reformer_attention: hashes must be at least 1, got 0");
  EXPECT_EQ(message_with({.kind = "reformer", .width = 8, .reformer = {.chunk = 0}}),
            "reformer_attention: chunk must be at least 1, got 0");
}

TEST(ReformerAttention, NothingGivesNothing) {
  EXPECT_EQ(reformer()(random_heads(2, 2, 0, 3), std::nullopt).sizes(), (std::vector<int64_t>{2, 2, 0, 3}));
  EXPECT_EQ(reformer_layer(1)->forward(torch::randn({0, 9, 12}), std::nullopt).out.sizes(),
            (std::vector<int64_t>{0, 9, 12}));
}

}  // namespace
}  // namespace primal::nn::rivals
