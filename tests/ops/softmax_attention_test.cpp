#include "ops/softmax_attention/softmax_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <string>
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
    const Tensor of_queries = at::constant_pad_nd(*a.padding, {queries - keys, 0}, 0).to(torch::kBool);
    hidden = hidden.logical_or(of_queries.unsqueeze(1).unsqueeze(3));
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
          {2, 2, 1, 9, 64},
          {1, 1, 60, 20, 4, SoftmaxReach::causal()},  // the first see nothing
          {1, 1, 350, 300, 4, {.behind = 30, .ahead = 2}},
          {2, 1, 5, 0, 3},
          {1, 1, 20, 300, 140},
          {1, 1, 6, 7, 530}};
}

SoftmaxAttention random_call(const Case& c, bool padded) {
  SoftmaxAttention a{.q = heads(c.batch, c.heads, c.queries, c.width),
                     .k = heads(c.batch, c.heads, c.keys, c.width),
                     .v = heads(c.batch, c.heads, c.keys, c.width),
                     .reach = c.reach};
  if (padded) {
    a.padding = torch::rand({c.batch, c.keys}) < 0.3;
    a.padding->slice(1, 0, c.keys / 5) = true;  // and both ends
    a.padding->slice(1, c.keys - c.keys / 3) = true;
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
  SoftmaxAttention a = random_call({2, 2, 300, 300, 8}, true);
  a.padding->select(0, 1) = true;  // nothing but padding: the softmax of what is there
  const Tensor g = torch::randn(a.q.sizes());
  a.padded_score = -50;
  expect_close(with_gradients(a, g, ops::softmax_attention),
               with_gradients(a, g.to(torch::kDouble), [](const auto& call) { return plain(call); }), 1e-4);
  a.padded_score =
      -1e6;  // published; floats are 1/16 apart there, so the scores of that sequence are made of such steps
  a.k.select(0, 1).zero_();
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
  EXPECT_TRUE(tests::close(ours.q.to(torch::kDouble), exact.q, 1e-3));
  EXPECT_TRUE(ours.k.isfinite().all().item<bool>());
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

TEST(SoftmaxAttentionOp, GradientsOfBfloat16AreRoundedOnce) {
  torch::manual_seed(9);
  const SoftmaxAttention a = random_call({1, 2, 50, 50, 8}, false);
  const Tensor g = torch::randn(a.q.sizes()).to(torch::kBFloat16);
  const auto wide = [](const Tensor& x) { return x.to(torch::kBFloat16).to(torch::kFloat); };
  const Result narrow = with_gradients(a, g, ops::softmax_attention);
  const Result exact =
      with_gradients({.q = wide(a.q), .k = wide(a.k), .v = wide(a.v)}, wide(g), ops::softmax_attention);
  EXPECT_TRUE(tests::same(narrow.q, exact.q.to(torch::kBFloat16)));
  EXPECT_TRUE(tests::same(narrow.k, exact.k.to(torch::kBFloat16)));
  EXPECT_TRUE(tests::same(narrow.v, exact.v.to(torch::kBFloat16)));
}

TEST(SoftmaxAttentionOp, AnyStridesAreReadAndAnyGradientIsTaken) {
  torch::manual_seed(10);
  const Tensor q = torch::randn({1, 2, 6, 30}).requires_grad_(), k = torch::randn({3, 2, 30, 6}).requires_grad_();
  const Tensor v = torch::randn({3, 2, 30, 12}).requires_grad_();
  const SoftmaxAttention a{.q = q.transpose(2, 3).expand({3, 2, 30, 6}), .k = k, .v = v.slice(3, 0, 12, 2)};
  const auto gradients = [&](const Tensor& out) { return torch::autograd::grad({out.sum()}, {q, k, v}); };
  const auto ours = gradients(ops::softmax_attention(a)), theirs = gradients(plain(a));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(tests::close(ours[i], theirs[i], 1e-5)) << i;
}

TEST(SoftmaxAttentionOp, ASecondBackwardPassOfTheSameGraphAddsTheSame) {
  torch::manual_seed(11);
  SoftmaxAttention a = random_call({1, 2, 40, 40, 4}, false);
  a.dropout = 0.5;
  const Tensor q = a.q = a.q.detach().clone().requires_grad_();
  const Tensor out = ops::softmax_attention(a), g = torch::randn(out.sizes());
  out.backward(g, /*retain_graph=*/true);
  const Tensor once = q.grad().clone();
  out.backward(g);
  EXPECT_TRUE(tests::same(q.grad(), 2 * once));
}

TEST(SoftmaxAttentionOp, AQueryThatIsNotANumberShowsInTheGradients) {
  SoftmaxAttention a = random_call({1, 1, 20, 20, 4}, false);
  a.q[0][0][3][1] = std::nan("");
  const Result result = with_gradients(a, torch::ones(a.q.sizes()), ops::softmax_attention);
  for (const Tensor& x : {result.q[0][0][3], result.k, result.v}) EXPECT_TRUE(x.isnan().all().item<bool>());
}

TEST(SoftmaxAttentionOp, WhatDoesNotFitIsRefused) {
  const auto refused = [](const auto& change) {
    SoftmaxAttention a = random_call({2, 1, 3, 4, 5}, true);
    change(a);
    try {
      ops::softmax_attention(a);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](auto& a) { a.q = a.q[0]; }), "softmax_attention: expected q [B, H, N, d], got [1, 3, 5]");
  EXPECT_EQ(refused([](auto& a) { a.k = a.k.narrow(0, 0, 1); }),
            "softmax_attention: expected k [2, 1, 4, 5], got [1, 1, 4, 5]");
  EXPECT_EQ(refused([](auto& a) { a.v = a.v.narrow(3, 0, 2); }),
            "softmax_attention: expected v [2, 1, 4, 5], got [2, 1, 4, 2]");
  EXPECT_EQ(refused([](auto& a) { a.v = a.v.to(torch::kDouble); }),
            "softmax_attention: v must be float32 or bfloat16, got Double");
  EXPECT_EQ(refused([](auto& a) { a.padding = a.padding->narrow(0, 0, 1); }),
            "softmax_attention: expected padding [2, 4], got [1, 4]");
  EXPECT_EQ(refused([](auto& a) { a.padding = a.padding->to(torch::kFloat); }),
            "softmax_attention: padding must be bool, got Float");
  EXPECT_EQ(refused([](auto& a) { a.padded_score = kInfinity; }),
            "softmax_attention: padded_score must be finite or -inf, got inf");
  EXPECT_EQ(refused([](auto& a) { a.reach.ahead = -1; }).substr(0, 50),
            "softmax_attention: expected a reach of at least 0,");
  EXPECT_EQ(refused([](auto& a) { a.dropout = 1; }), "softmax_attention: dropout must be in [0, 1), got 1");
}

TEST(SoftmaxAttentionOp, RefusesSecondDerivatives) {
  SoftmaxAttention a = random_call({1, 1, 4, 4, 2}, false);
  a.q.requires_grad_();
  const Tensor out = ops::softmax_attention(a);
  EXPECT_THROW(torch::autograd::grad({out.sum()}, {a.q}, {}, std::nullopt, /*create_graph=*/true), c10::Error);
}

}  // namespace
}  // namespace primal
