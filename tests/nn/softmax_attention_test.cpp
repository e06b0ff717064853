#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "nn/attention/softmax.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using torch::Tensor;

constexpr int64_t kWidth = 12, kHeads = 3, kTokens = 10;

SoftmaxAttention layer(bool causal) {
  torch::manual_seed(6);
  SoftmaxAttention module(AttentionOptions{.width = kWidth, .heads = kHeads, .causal = causal});
  module->to(torch::kDouble);
  return module;
}

// One head after another, one token after another. A token looks at the real ones among those it may see.
Tensor plain_softmax(SoftmaxAttention& module, const Tensor& x, const Tensor& padding, bool causal) {
  const int64_t d = kWidth / kHeads;
  const Tensor q = module->q_proj(x), k = module->k_proj(x), v = module->v_proj(x);
  Tensor mixed = torch::zeros_like(x);
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const auto head = [&](const Tensor& y) { return y[b].narrow(1, h * d, d); };
      for (int64_t t = 0; t < x.size(1); ++t) {
        Tensor score = head(k).matmul(head(q)[t]) / std::sqrt(static_cast<double>(d));
        Tensor hidden = padding[b].clone();
        if (causal) hidden.slice(0, t + 1) = true;
        score = score.masked_fill(hidden, -std::numeric_limits<double>::infinity());
        mixed[b][t].narrow(0, h * d, d) = score.softmax(0).matmul(head(v));
      }
    }
  }
  return module->out_proj(mixed).masked_fill(padding.unsqueeze(-1), 0);
}

TEST(SoftmaxAttention, IsTheSoftmaxOfScaledProducts) {
  const Tensor x = torch::randn({3, kTokens, kWidth}, torch::kDouble);
  const Tensor none = torch::zeros({3, kTokens}, torch::kBool);
  const Tensor right = padding_mask(torch::tensor({10, 4, 1}), kTokens), left = right.flip(1);
  const torch::NoGradGuard no_grad;
  for (const bool causal : {false, true}) {
    SoftmaxAttention module = layer(causal);
    EXPECT_TRUE(close(module->forward(x), plain_softmax(module, x, none, causal), 1e-12));
    for (const Tensor& padding : {none, right, left}) {
      EXPECT_TRUE(close(module->forward(x, padding), plain_softmax(module, x, padding, causal), 1e-12));
    }
  }
}

TEST(SoftmaxAttention, ASequenceWithoutAnyTokenGivesZeroAndNoNan) {
  const Tensor padding = padding_mask(torch::tensor({0, 10}), kTokens);
  for (const bool causal : {false, true}) {
    const Tensor x = torch::randn({2, kTokens, kWidth}, torch::kDouble).requires_grad_();
    const Tensor out = layer(causal)->forward(x, padding);
    out.square().sum().backward();
    EXPECT_EQ(out[0].abs().max().item<double>(), 0);
    EXPECT_EQ(x.grad()[0].abs().max().item<double>(), 0);
    EXPECT_GT(x.grad()[1].abs().max().item<double>(), 0);
  }
}

TEST(KeyValueCache, GrowsAndKeepsWhatItHas) {
  const Tensor keys = torch::randn({2, 3, 300, 4}), values = torch::randn({2, 3, 300, 4});
  const Tensor padding = torch::rand({2, 300}) < 0.3;
  KeyValueCache cache(2);
  int64_t begin = 0;
  for (const int64_t more : {1, 0, 70, 9, 220}) {
    const auto part = [&](const Tensor& t, int64_t axis) { return t.narrow(axis, begin, more); };
    // The first tokens come without a mask.
    cache.append(part(keys, 2), part(values, 2), begin < 71 ? std::nullopt : std::optional(part(padding, 1)));
    begin += more;
    EXPECT_EQ(cache.tokens(), begin);
    EXPECT_EQ(cache.padding().has_value(), begin > 71);
  }
  EXPECT_TRUE(tests::same(cache.keys(), keys));
  EXPECT_TRUE(tests::same(cache.values(), values));
  EXPECT_TRUE(tests::same(cache.padding()->narrow(1, 71, 229), padding.narrow(1, 71, 229)));
  EXPECT_FALSE(cache.padding()->narrow(1, 0, 71).any().item<bool>());
}

}  // namespace
}  // namespace primal::nn
