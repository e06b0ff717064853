#include "analysis/ksvd_replacement.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/encoder.h"
#include "nn/record.h"
#include "support/tensors.h"

namespace primal::analysis {
namespace {

using tests::close;
using torch::Tensor;

nn::EncoderLayerOptions causal_layer() {
  return {.attention = {.width = 12, .heads = 2, .causal = true, .primal = {.rank = 3}}, .feed_forward = 16};
}

class KsvdReplacementTest : public testing::Test {
 protected:
  KsvdReplacementTest() {
    torch::manual_seed(1);
    encoder->to(torch::kDouble);
    encoder->eval();
    attention = nn::record(*encoder, [&] { encoder(x); })[0].attention;
  }

  SeenByLayers seen() {
    return ksvd_seen(*encoder, [&] { encoder(x); });
  }
  Tensor run() {
    const torch::NoGradGuard no_grad;
    return encoder(x).out;
  }
  // [H, N, p] of all tokens of x.
  std::pair<Tensor, Tensor> features() {
    std::vector<Tensor> q, k;
    const torch::NoGradGuard no_grad;
    for (const auto& call : nn::record(*encoder, [&] { encoder(x); })) {
      if (call.attention != attention) continue;
      const PrimalAttentionImpl& layer = *attention->primal();
      const auto made = [&](const Tensor& weight, const Tensor& bias) {
        const Tensor projected = at::linear(call.input, weight, bias);
        const Tensor counts = at::arange(1, x.size(1) + 1, at::kDouble).view({1, -1, 1});
        const Tensor past = (projected.cumsum(1) / counts).view({x.size(0), x.size(1), 2, 6}).permute({2, 0, 1, 3});
        return (past / past.norm(2, -1, /*keepdim=*/true)).flatten(1, 2);
      };
      q.push_back(made(layer.q_proj->weight, layer.q_proj->bias));
      k.push_back(made(layer.k_proj->weight, layer.k_proj->bias));
    }
    return {at::cat(q, 1), at::cat(k, 1)};
  }

  nn::Encoder encoder{std::vector<nn::EncoderLayerOptions>{causal_layer(), causal_layer()}};
  Tensor x = torch::randn({3, 14, 12}, torch::kDouble);
  std::shared_ptr<nn::Attention> attention;
};

// Against the kernel matrix of all tokens of all samples, made here.
TEST_F(KsvdReplacementTest, WhatIsSeenIsTheKernelOfAllTokens) {
  const auto [q, k] = features();
  const Tensor values = std::get<1>(at::linalg_svd(at::matmul(q, k.transpose(-2, -1)), /*full_matrices=*/false));
  const KsvdFactors factors = seen().at(attention);
  EXPECT_EQ(factors.samples(), 1);
  EXPECT_EQ(factors.tokens.item<double>(), 42);
  EXPECT_TRUE(close(factors.singular_values[0], values.narrow(-1, 0, 6), 1e-10));
}

TEST_F(KsvdReplacementTest, SamplesMayComeInSeveralCalls) {
  const KsvdFactors at_once = seen().at(attention);
  const auto one_by_one = ksvd_seen(*encoder, [&] {
    for (int64_t b = 0; b < 3; ++b) encoder(x.narrow(0, b, 1));
  });
  EXPECT_TRUE(close(one_by_one.at(attention).singular_values, at_once.singular_values, 1e-10));
}

// E = Phi_q We spans the best left directions, R = Phi_k Wr the best right ones; both have the norm of the own scores.
TEST_F(KsvdReplacementTest, BestPairsAreThoseOfTheKernel) {
  const auto [q, k] = features();
  const PrimalAttentionImpl& layer = *attention->primal();
  const Tensor own = at::matmul(q, layer.we.detach());
  const auto [left, values, right] = at::linalg_svd(at::matmul(q, k.transpose(-2, -1)), /*full_matrices=*/false);
  const KsvdReplacement best(attention, seen().at(attention), InsteadOfScores::best_pairs);
  const auto is_within = [](const Tensor& scores, const Tensor& basis) {
    return close(at::matmul(basis, at::matmul(basis.transpose(-2, -1), scores)), scores, 1e-8);
  };
  const Tensor e = at::matmul(q, layer.we.detach()), r = at::matmul(k, layer.wr.detach());
  EXPECT_TRUE(is_within(e, left.narrow(-1, 0, 3)));
  EXPECT_TRUE(is_within(r, right.transpose(-2, -1).narrow(-1, 0, 3)));
  EXPECT_TRUE(close(e.norm(2, {-2, -1}), own.norm(2, {-2, -1}), 1e-8));
}

TEST_F(KsvdReplacementTest, OtherWeightsStayUntilItEnds) {
  const Tensor before = run();
  const auto factors = seen().at(attention);
  for (const auto instead : {InsteadOfScores::best_pairs, InsteadOfScores::random_directions, InsteadOfScores::none}) {
    const KsvdReplacement replacement(attention, factors, instead);
    EXPECT_GT((run() - before).abs().max().item<double>(), 1e-3);
  }
  EXPECT_TRUE(tests::same(run(), before));
}

// What comes later changes no token before it.
TEST_F(KsvdReplacementTest, NothingIsToldOfTheFuture) {
  const KsvdReplacement best(attention, seen().at(attention), InsteadOfScores::best_pairs);
  const Tensor before = run();
  x = x.clone();
  x.narrow(1, 9, 5).normal_();
  const Tensor after = run();
  EXPECT_TRUE(close(after.narrow(1, 0, 9), before.narrow(1, 0, 9), 1e-12));
  EXPECT_FALSE(close(after.narrow(1, 9, 5), before.narrow(1, 9, 5), 1e-3));
}

TEST_F(KsvdReplacementTest, OtherLayersAreErrors) {
  nn::Encoder wrong(std::vector<nn::EncoderLayerOptions>{
      {.attention = {.kind = "softmax", .width = 12, .heads = 2}, .feed_forward = 16},
      {.attention = {.width = 12, .heads = 2, .primal = {.rank = 3}}, .feed_forward = 16}});
  const auto factors = seen().at(attention);
  const Tensor tokens = x.to(torch::kFloat32);
  EXPECT_TRUE(ksvd_seen(*wrong, [&] { wrong(tokens); }).empty());
  for (const auto& call : nn::record(*wrong, [&] { wrong(tokens); })) {
    EXPECT_THROW(KsvdReplacement(call.attention, factors, InsteadOfScores::best_pairs), Error);
  }
  KsvdFactors own = factors;
  own.f = torch::randn({1, 2, 4, 6}, torch::kDouble);
  EXPECT_THROW(joined({own}), Error);
}

}  // namespace
}  // namespace primal::analysis
