#include "nn/attention/cosformer.h"

#include <numbers>

#include "nn/rivals/cases.h"
#include "nn/rivals/decoding.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;
using tests::error_of;

Mix cosformer() {
  return [](const Heads& heads, const std::optional<Tensor>& padding) { return cosformer_attention(heads, padding); };
}

// period 0: the sample's own length
Mix causal_cosformer(int64_t period) {
  return [period](const Heads& heads, const std::optional<Tensor>& padding) {
    return causal_cosformer_attention(heads, padding, period);
  };
}

TEST(CosformerAttention, GivesThePublishedNumbers) {
  expect_golden(golden_attention("cosformer"), cosformer());
  expect_golden(golden_attention("cosformer_causal"), causal_cosformer(0));
  expect_golden(golden_attention("cosformer_causal"), causal_cosformer(16));
}

TEST(CosformerAttention, GivesTheWorkedExamples) {
  EXPECT_TRUE(close(cosformer_attention(example(), std::nullopt),
                    printed({.031361, -.671393, 0, 0, -.282315, .546308, -.238141, .355798,  //
                             -.040614, -.651147, 0, 0, -.276129, .588597, -.101224, -.634098}),
                    kSixDigits));
  EXPECT_TRUE(close(causal_cosformer_attention(example(), std::nullopt, 0),
                    printed({.2, -.6, 0, 0, -.484938, .481852, -.374790, .199889,  //
                             .018314, -.781686, 0, 0, -.276129, .588597, -.101224, -.634098}),
                    kSixDigits));
}

// The whole matrix of weights, with period M. heads: one sample without padding
Tensor plain_cosformer(const Heads& heads, double period, bool causal) {
  const Tensor i = torch::arange(heads.q.size(2), torch::kDouble);
  const Tensor distance = i.unsqueeze(1) - i;
  Tensor weights =
      heads.q.relu().matmul(heads.k.relu().transpose(-1, -2)) * (distance * (std::numbers::pi / 2 / period)).cos();
  if (causal) weights = weights.tril();
  return weights.matmul(heads.v) / weights.sum(-1, /*keepdim=*/true).clamp_min(1e-6);
}

TEST(CosformerAttention, WeightsFallOffAsACosine) {
  for (const int64_t tokens : {1, 7, 150}) {
    const Heads heads = random_heads(1, 2, tokens, 4);
    const auto period = static_cast<double>(tokens);
    EXPECT_TRUE(close(cosformer_attention(heads, std::nullopt), plain_cosformer(heads, period, false), 1e-10));
    EXPECT_TRUE(close(causal_cosformer_attention(heads, std::nullopt, 0), plain_cosformer(heads, period, true), 1e-10));
    EXPECT_TRUE(close(causal_cosformer_attention(heads, std::nullopt, 200), plain_cosformer(heads, 200, true), 1e-10));
  }
}

TEST(CosformerAttention, AQueryWithoutAPositiveNumberGetsNothing) {
  Heads heads = random_heads(1, 1, 6, 4);
  heads.q[0][0][2] = -heads.q[0][0][2].abs();
  EXPECT_EQ(cosformer_attention(heads, std::nullopt)[0][0][2].abs().max().item<double>(), 0);
}

TEST(CosformerAttention, IsAMeanWhereQueriesArePositive) {
  expect_means([](const Heads& heads, const std::optional<Tensor>& padding) {
    return cosformer_attention({.q = heads.q.abs(), .k = heads.k.abs(), .v = heads.v}, padding);
  });
}

TEST(CosformerAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, true}});
  for (const Mix& mix : {cosformer(), causal_cosformer(0), causal_cosformer(9)}) {
    expect_gradients(mix, random_heads(1, 2, 5, 3), padding);
  }
}

TEST(CosformerAttention, KeepsWhatEveryRivalShould) {
  for (const Mix& mix : {cosformer(), causal_cosformer(0), causal_cosformer(20)}) {
    expect_padding_leaves_no_trace(mix);
    expect_gaps_leave_no_trace(mix);
    expect_no_nan_without_tokens(mix);
  }
}

TEST(CosformerAttention, StepsGiveThePass) {
  expect_steps_equal_the_pass({.kind = "cosformer", .width = 12, .heads = 3, .causal = true, .tokens = 41});
  expect_steps_equal_the_pass({.kind = "cosformer", .width = 12, .heads = 3, .causal = true, .tokens = 100});
}

TEST(CosformerAttention, DecodingNeedsTheLengthAndStaysWithinIt) {
  const auto unknown = make_cosformer_attention({.kind = "cosformer", .width = 8, .causal = true});
  const auto three = make_cosformer_attention({.kind = "cosformer", .width = 8, .causal = true, .tokens = 3});
  const Tensor token = torch::randn({1, 1, 8});
  EXPECT_EQ(error_of([&] { unknown->step(token, *unknown->initial_state(1), std::nullopt); }),
            "cosformer_attention: decoding needs to know the length of the longest sequence (tokens)");
  const std::string too_long = "cosformer_attention: made for sequences of at most 3 tokens, got 4";
  const auto state = three->initial_state(1);
  for (int i = 0; i < 3; ++i) three->step(token, *state, std::nullopt);
  EXPECT_EQ(error_of([&] { three->step(token, *state, std::nullopt); }), too_long);
  EXPECT_EQ(error_of([&] { three->forward(token.expand({1, 4, 8}), std::nullopt); }), too_long);
  // Padded tokens take no time.
  EXPECT_NO_THROW(three->step(token, *state, torch::ones({1, 1}, torch::kBool)));
}

TEST(CosformerAttention, NothingGivesNothing) {
  for (const Mix& mix : {cosformer(), causal_cosformer(9)}) {
    EXPECT_EQ(mix(random_heads(0, 2, 5, 3), std::nullopt).sizes(), (std::vector<int64_t>{0, 2, 5, 3}));
    EXPECT_EQ(mix(random_heads(2, 2, 0, 3), std::nullopt).sizes(), (std::vector<int64_t>{2, 2, 0, 3}));
  }
}

TEST(CosformerAttention, AsPublishedPaddedTokensCountLikeAnyOther) {
  torch::manual_seed(1);
  const auto attention = make_cosformer_attention({.kind = "cosformer", .width = 8, .masking = Masking::published});
  const Tensor x = torch::randn({1, 8, 8});
  EXPECT_TRUE(tests::same(attention->forward(x, two_padded()).out, attention->forward(x, std::nullopt).out));
}

}  // namespace
}  // namespace primal::nn::rivals
