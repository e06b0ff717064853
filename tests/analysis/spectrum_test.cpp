#include "analysis/spectrum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/encoder.h"
#include "nn/record.h"

namespace primal::analysis {
namespace {

using run::LayerFacts;

using torch::Tensor;

class SpectrumTest : public testing::Test {
 protected:
  SpectrumTest() { torch::manual_seed(1); }

  nn::Encoder encoder{std::vector<nn::EncoderLayerOptions>{
      {.attention = {.kind = "softmax", .width = 8, .heads = 2}, .feed_forward = 16},
      {.attention = {.width = 8, .heads = 2, .primal = {.rank = 3, .rows = 6}}, .feed_forward = 16}}};
  Tensor x = torch::randn({2, 12, 8});
  Tensor padding = padding_mask(torch::tensor({12, 9}), 12);
};

TEST_F(SpectrumTest, IsThatOfTheScores) {
  const auto records = nn::record(*encoder, [&] { encoder(x, nn::EncoderMasks{padding}); });
  const auto layers = spectrum_of(*encoder, [&] { encoder(x, nn::EncoderMasks{padding}); });
  ASSERT_EQ(layers.size(), 1u);  // the softmax layer has none
  const LayerFacts& layer = layers[0];
  EXPECT_EQ(layer.name, "layer 2");
  EXPECT_EQ(layer.rank, 3);
  EXPECT_EQ(layer.rows, 6);
  EXPECT_EQ(layer.tokens, 12);
  EXPECT_EQ(layer.heads, 2);
  EXPECT_EQ(layer.lambda.size(), 2u);
  ASSERT_EQ(layer.singular_values_e.size(), 3u);

  const auto scores = records[1].attention->primal()->scores(records[1].input, {.query_padding = padding});
  // Means over samples and heads.
  const Tensor e = at::linalg_svdvals(scores.e.to(torch::kFloat64)),
               r = at::linalg_svdvals(scores.r.to(torch::kFloat64));
  EXPECT_NEAR(layer.singular_values_e[0], e.select(-1, 0).mean().item<double>(), 1e-9);
  EXPECT_NEAR(layer.singular_values_r[2], r.select(-1, 2).mean().item<double>(), 1e-9);
  EXPECT_GE(layer.singular_values_e[0], layer.singular_values_e[1]);
  EXPECT_GE(layer.effective_rank_e, 1);
  EXPECT_LE(layer.effective_rank_e, 3);
}

TEST_F(SpectrumTest, MoreRankThanTokensGivesZeroSingularValues) {
  const auto layers = spectrum_of(*encoder, [&] { encoder(x.narrow(1, 0, 2)); });
  ASSERT_EQ(layers[0].singular_values_r.size(), 3u);
  EXPECT_EQ(layers[0].singular_values_r[2], 0);
}

TEST_F(SpectrumTest, SeveralCallsOfALayerAreOneMean) {
  const auto of = [&](const Tensor& tokens) { return spectrum_of(*encoder, [&] { encoder(tokens); })[0]; };
  const LayerFacts first = of(x), second = of(x.narrow(1, 3, 5));
  const auto both = spectrum_of(*encoder, [&] {
    encoder(x);
    encoder(x.narrow(1, 3, 5));
  });
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].tokens, 12);
  EXPECT_NEAR(both[0].singular_values_e[1], (first.singular_values_e[1] + second.singular_values_e[1]) / 2, 1e-9);
  EXPECT_NEAR(both[0].effective_rank_r, (first.effective_rank_r + second.effective_rank_r) / 2, 1e-9);
}

TEST_F(SpectrumTest, CausalLayersSampleNoRows) {
  nn::Encoder causal(std::vector<nn::EncoderLayerOptions>{
      {.attention = {.width = 8, .heads = 2, .causal = true, .primal = {.rank = 3}}, .feed_forward = 16}});
  const auto layers = spectrum_of(*causal, [&] { causal(x); });
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].rows, 0);
  EXPECT_EQ(layers[0].singular_values_e.size(), 3u);
}

// The scores of more tokens than a block are decomposed block by block.
TEST_F(SpectrumTest, LongScoresGiveTheSameValues) {
  const Tensor tokens = torch::randn({2, 4096 + 700, 8});
  const Tensor long_padding = padding_mask(torch::tensor({4796, 4100}), 4796);
  const nn::EncoderMasks masks{long_padding};
  const auto layers = spectrum_of(*encoder, [&] { encoder(tokens, masks); });
  const auto records = nn::record(*encoder, [&] { encoder(tokens, masks); });
  const auto scores = records[1].attention->primal()->scores(records[1].input, {.query_padding = long_padding});
  const Tensor e = at::linalg_svdvals(scores.e.to(torch::kFloat64)).flatten(0, 1).mean(0);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(layers[0].singular_values_e[static_cast<size_t>(i)], e[i].item<double>(), 1e-9);
  }
}

TEST_F(SpectrumTest, WithoutCallsThereAreNoLayers) {
  EXPECT_TRUE(spectrum_of(*encoder, [] {}).empty());
}

}  // namespace
}  // namespace primal::analysis
