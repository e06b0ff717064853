#include "ops/softmax_attention/softmax_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/dropout.h"
#include "ops/dropout.h"
#include "support/cpu_targets.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal {
namespace {

using ops::SoftmaxAttention;
using ops::SoftmaxReach;
using torch::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Heads of a token beside each other, as projections give them.
Tensor heads(int64_t batch, int64_t heads, int64_t tokens, int64_t width) {
  return torch::randn({batch, tokens, heads, width}).transpose(1, 2);
}

// The whole matrix, in the dtype of q; kept: [B, H, N, M], factors of the weights.
Tensor plain(const SoftmaxAttention& a, const Tensor& kept = {}) {
  const int64_t queries = a.q.size(2), keys = a.k.size(2);
  Tensor scores = a.q.matmul(a.k.transpose(-1, -2)) / std::sqrt(static_cast<double>(a.q.size(3)));
  const Tensor distance = torch::arange(keys) - (torch::arange(queries) + keys - queries).unsqueeze(1);
  Tensor hidden = distance.lt(-a.reach.behind).logical_or(distance.gt(a.reach.ahead)).expand_as(scores);
  if (a.padding && std::isinf(a.padded_score)) {
    hidden = hidden.logical_or(a.padding->unsqueeze(1).unsqueeze(1));
    hidden = hidden.logical_or(a.padding->narrow(1, keys - queries, queries).unsqueeze(1).unsqueeze(3));
  } else if (a.padding) {
    scores = scores + a.padding->to(scores.dtype()).mul(a.padded_score).unsqueeze(1).unsqueeze(1);
  }
  const Tensor blind = hidden.all(-1, /*keepdim=*/true);
  Tensor weights = scores.masked_fill(hidden.logical_and(blind.logical_not()), -kInfinity).softmax(-1);
  weights = weights.masked_fill(blind, 0);
  return (kept.defined() ? weights * kept : weights).matmul(a.v);
}

struct Case {
  int64_t batch, heads, queries, keys, width;
  SoftmaxReach reach{};
};

// Tiles are 96 x 256, units of work 768 queries.
std::vector<Case> cases() {
  return {{2, 3, 7, 7, 5},
          {1, 2, 96, 256, 32},
          {2, 1, 97, 257, 16},
          {1, 1, 800, 530, 8},
          {2, 2, 300, 300, 33, SoftmaxReach::causal()},
          {1, 1, 1000, 1000, 4, SoftmaxReach::causal()},
          {1, 2, 40, 300, 8, SoftmaxReach::causal()},
          {1, 2, 700, 700, 8, {.behind = 20, .ahead = 13}},
          {1, 1, 600, 600, 8, {.behind = 300, .ahead = 0}},
          {2, 2, 1, 9, 64}};
}

SoftmaxAttention random_call(const Case& c, bool padded) {
  SoftmaxAttention a{.q = heads(c.batch, c.heads, c.queries, c.width),
                     .k = heads(c.batch, c.heads, c.keys, c.width),
                     .v = heads(c.batch, c.heads, c.keys, c.width),
                     .reach = c.reach};
  if (padded && c.keys >= c.queries) {
    a.padding = torch::rand({c.batch, c.keys}) < 0.3;
    a.padding->slice(1, c.keys - c.keys / 3) = true;  // and the end of each
  }
  return a;
}

struct Result {
  Tensor out, q, k, v;
};

Result with_gradients(SoftmaxAttention a, const Tensor& out_gradient, const auto& attend) {
  const auto leaf = [&](const Tensor& x) { return x.to(out_gradient.dtype()).detach().requires_grad_(); };
  a.q = leaf(a.q), a.k = leaf(a.k), a.v = leaf(a.v);
  const Tensor out = attend(a);
  out.backward(out_gradient);
  return {out.detach(), a.q.grad(), a.k.grad(), a.v.grad()};
}

void expect_close(const Result& ours, const Result& theirs, double tolerance) {
  EXPECT_TRUE(tests::close(ours.out.to(torch::kDouble), theirs.out, tolerance)) << "out";
  EXPECT_TRUE(tests::close(ours.q.to(torch::kDouble), theirs.q, tolerance)) << "q";
  EXPECT_TRUE(tests::close(ours.k.to(torch::kDouble), theirs.k, tolerance)) << "k";
  EXPECT_TRUE(tests::close(ours.v.to(torch::kDouble), theirs.v, tolerance)) << "v";
}

TEST(SoftmaxAttentionOp, IsTheSoftmaxOfTheWholeMatrixWithItsGradients) {
  torch::manual_seed(1);
  tests::on_every_cpu_target([] {
    for (const Case& c : cases()) {
      for (const bool padded : {false, true}) {
        SCOPED_TRACE(testing::Message() << c.queries << " queries, " << c.keys << " keys, padded " << padded);
        const SoftmaxAttention a = random_call(c, padded);
        const Tensor g = torch::randn(a.q.sizes());
        expect_close(with_gradients(a, g, ops::softmax_attention),
                     with_gradients(a, g.to(torch::kDouble), [](const auto& call) { return plain(call); }), 2e-5);
      }
    }
  });
}

TEST(SoftmaxAttentionOp, AFiniteScoreOfPaddingIsAddedAndHidesNothing) {
  torch::manual_seed(2);
  SoftmaxAttention a = random_call({2, 2, 120, 120, 8}, true);
  a.padding->select(0, 1) = true;  // nothing but padding: the softmax of what is there
  a.padded_score = -50;
  const Tensor g = torch::randn(a.q.sizes());
  expect_close(with_gradients(a, g, ops::softmax_attention),
               with_gradients(a, g.to(torch::kDouble), [](const auto& call) { return plain(call); }), 1e-4);
}

TEST(SoftmaxAttentionOp, DropsWeightsByTheSameStreamForwardAndBackward) {
  torch::manual_seed(3);
  for (const Case& c : cases()) {
    SCOPED_TRACE(testing::Message() << c.queries << " queries, " << c.keys << " keys");
    SoftmaxAttention a = random_call(c, true);
    a.dropout = 0.25;
    torch::manual_seed(9);
    const auto seed = static_cast<uint64_t>(ops::draw_dropout_seed());
    Tensor kept = torch::ones({c.batch, c.heads, c.queries, c.keys});
    float* factors = kept.mutable_data_ptr<float>();
    kernels::dropout(factors, factors, kept.numel(), seed, 0, 1U << 30, 1 / 0.75F);
    const Tensor g = torch::randn(a.q.sizes());
    torch::manual_seed(9);
    expect_close(
        with_gradients(a, g, ops::softmax_attention),
        with_gradients(a, g.to(torch::kDouble), [&](const auto& call) { return plain(call, kept.to(torch::kDouble)); }),
        4e-5);
  }
}

TEST(SoftmaxAttentionOp, ThreadsDoNotChangeABit) {
  const tests::ThreadsGuard guard;
  torch::manual_seed(4);
  SoftmaxAttention a = random_call({2, 3, 900, 900, 8}, true);
  a.dropout = 0.1;
  const Tensor g = torch::randn(a.q.sizes());
  std::vector<Result> results;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    torch::manual_seed(5);
    results.push_back(with_gradients(a, g, ops::softmax_attention));
    EXPECT_TRUE(tests::same(results.back().out, results.front().out));
    EXPECT_TRUE(tests::same(results.back().q, results.front().q));
    EXPECT_TRUE(tests::same(results.back().k, results.front().k));
    EXPECT_TRUE(tests::same(results.back().v, results.front().v));
  }
}

TEST(SoftmaxAttentionOp, HiddenTokensLeaveNoTraceWhateverTheyHold) {
  torch::manual_seed(6);
  for (const SoftmaxReach reach : {SoftmaxReach{}, SoftmaxReach::causal(), SoftmaxReach{.behind = 3, .ahead = 3}}) {
    SoftmaxAttention a = random_call({2, 2, 290, 290, 6, reach}, true);
    a.padding->select(0, 1) = true;  // a sequence without any token
    const Tensor padded = a.padding->unsqueeze(1).unsqueeze(3);
    const Tensor g = torch::randn(a.q.sizes());
    const Result clean = with_gradients(a, g, ops::softmax_attention);
    for (Tensor* x : {&a.q, &a.k, &a.v}) *x = x->masked_fill(padded, std::nan(""));
    const Result other = with_gradients(a, g.masked_fill(padded, std::nan("")), ops::softmax_attention);
    EXPECT_TRUE(tests::same(clean.out, other.out));
    EXPECT_TRUE(tests::same(clean.q, other.q));
    EXPECT_TRUE(tests::same(clean.k, other.k));
    EXPECT_TRUE(tests::same(clean.v, other.v));
    for (const Tensor& x : {clean.out, clean.q, clean.k, clean.v}) {
      EXPECT_EQ(x.masked_select(padded).abs().max().item<double>(), 0);
    }
  }
}

TEST(SoftmaxAttentionOp, ANanInATokenThatCountsIsSeen) {
  SoftmaxAttention a = random_call({1, 1, 20, 20, 4}, false);
  a.k[0][0][7][2] = std::nan("");
  EXPECT_TRUE(ops::softmax_attention(a).isnan().all().item<bool>());
  a.reach = SoftmaxReach{.behind = 2, .ahead = 2};
  EXPECT_EQ(ops::softmax_attention(a).isnan().any(-1).sum().item<int64_t>(), 5);
}

TEST(SoftmaxAttentionOp, LargeScoresDoNotOverflow) {
  torch::manual_seed(7);
  SoftmaxAttention a = random_call({1, 1, 600, 600, 4}, false);
  a.q = a.q * 300;
  const Tensor g = torch::randn(a.q.sizes());
  const Result ours = with_gradients(a, g, ops::softmax_attention);
  const Result exact = with_gradients(a, g.to(torch::kDouble), [](const auto& call) { return plain(call); });
  EXPECT_TRUE(tests::close(ours.out.to(torch::kDouble), exact.out, 1e-3));
  EXPECT_TRUE(tests::close(ours.v.to(torch::kDouble), exact.v, 1e-3));
}

TEST(SoftmaxAttentionOp, Bfloat16IsTheFloatResultRounded) {
  torch::manual_seed(8);
  SoftmaxAttention a = random_call({1, 2, 50, 50, 8}, false);
  const auto narrow = [](const Tensor& x) { return x.to(torch::kBFloat16); };
  const SoftmaxAttention rounded{.q = narrow(a.q), .k = narrow(a.k), .v = narrow(a.v)};
  const auto wide = [](const Tensor& x) { return x.to(torch::kFloat); };
  EXPECT_TRUE(tests::same(ops::softmax_attention(rounded),
                          narrow(ops::softmax_attention({wide(rounded.q), wide(rounded.k), wide(rounded.v)}))));
}

TEST(SoftmaxAttentionOp, RefusesSecondDerivatives) {
  SoftmaxAttention a = random_call({1, 1, 4, 4, 2}, false);
  a.q.requires_grad_();
  const Tensor out = ops::softmax_attention(a);
  EXPECT_THROW(torch::autograd::grad({out.sum()}, {a.q}, {}, std::nullopt, /*create_graph=*/true), c10::Error);
}

}  // namespace
}  // namespace primal
