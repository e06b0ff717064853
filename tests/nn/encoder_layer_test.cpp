#include <gtest/gtest.h>

#include <cmath>

#include "nn/encoder.h"
#include "primal/error.h"

namespace primal::nn {
namespace {

EncoderLayer layer(bool fused, bool norm_first, bool recompute, double dropout) {
  torch::manual_seed(3);
  EncoderLayerOptions options{.attention = {.width = 24, .heads = 3, .primal = {.rank = 5, .rows = 7}},
                              .feed_forward = 37,
                              .dropout = dropout,
                              .norm_first = norm_first,
                              .recompute = recompute,
                              .fused = fused};
  return EncoderLayer(options);
}

struct Pass {
  torch::Tensor out, x_gradient;
  std::vector<torch::Tensor> gradients;
};

Pass run(EncoderLayer module, const torch::Tensor& input, const EncoderMasks& masks) {
  torch::manual_seed(11);  // of the dropout
  const torch::Tensor x = input.clone().requires_grad_();
  auto [out, terms] = module(x, masks);
  (out.square().sum() + terms->le.sum() + 2 * terms->lr.sum() - terms->tr.sum()).backward();
  Pass pass{out.detach(), x.grad(), {}};
  for (const auto& parameter : module->named_parameters()) pass.gradients.push_back(parameter.value().grad());
  return pass;
}

void expect_close(const torch::Tensor& actual, const torch::Tensor& expected) {
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LT((actual - expected).abs().max().item<double>(), 2e-4 * scale);
}

TEST(EncoderLayer, FusedIsTheSameAsItsPartsAlsoWithDropout) {
  const torch::Tensor x = torch::randn({3, 90, 24});
  torch::Tensor padding = torch::zeros({3, 90}, torch::kBool);
  padding[1].slice(0, 50) = true;
  for (const bool norm_first : {false, true}) {
    for (const bool recompute : {false, true}) {
      for (const double dropout : {0.0, 0.3}) {
        SCOPED_TRACE(c10::str("norm_first ", norm_first, ", recompute ", recompute, ", dropout ", dropout));
        for (const auto& unread : {std::optional<torch::Tensor>(), std::optional(padding)}) {
          const EncoderMasks masks{padding, unread};
          const Pass parts = run(layer(/*fused=*/false, norm_first, false, dropout), x, masks);
          const Pass fused = run(layer(/*fused=*/true, norm_first, recompute, dropout), x, masks);
          expect_close(fused.out, parts.out);
          expect_close(fused.x_gradient, parts.x_gradient);
          ASSERT_EQ(fused.gradients.size(), parts.gradients.size());
          for (size_t i = 0; i < parts.gradients.size(); ++i) expect_close(fused.gradients[i], parts.gradients[i]);
        }
      }
    }
  }
}

TEST(EncoderLayer, WhateverStandsInPaddedTokensHasNoEffect) {
  const torch::Tensor x = torch::randn({2, 90, 24});
  torch::Tensor padding = torch::zeros({2, 90}, torch::kBool);
  padding[1].slice(0, 5) = true;
  const auto filled = [&](double value) { return x.masked_fill(padding.unsqueeze(-1), value); };
  for (const bool norm_first : {false, true}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(c10::str("norm_first ", norm_first, ", fused ", fused));
      for (const auto& unread : {std::optional<torch::Tensor>(), std::optional(padding)}) {
        const Pass expected = run(layer(fused, norm_first, false, 0.3), filled(0), {padding, unread});
        const Pass actual = run(layer(fused, norm_first, false, 0.3), filled(std::nan("")), {padding, unread});
        EXPECT_TRUE(at::equal(actual.out, expected.out));
        EXPECT_TRUE(at::equal(actual.x_gradient, expected.x_gradient));
        for (size_t i = 0; i < expected.gradients.size(); ++i) {
          EXPECT_TRUE(at::equal(actual.gradients[i], expected.gradients[i]));
        }
      }
    }
  }
}

TEST(EncoderLayer, SoftmaxDoesNotSeePaddedTokensEither) {
  for (const bool norm_first : {false, true}) {
    torch::manual_seed(3);
    EncoderLayer module(EncoderLayerOptions{.attention = {.kind = "softmax", .width = 8, .heads = 2, .causal = true},
                                            .feed_forward = 5,
                                            .norm_first = norm_first});
    torch::Tensor padding = torch::zeros({2, 6}, torch::kBool);
    padding[0].slice(0, 4) = true;
    padding[1].slice(0, 0, 2) = true;
    const torch::Tensor x = torch::randn({2, 6, 8});
    const auto gradients = [&](double filler) {
      module->zero_grad();
      const torch::Tensor tokens = x.masked_fill(padding.unsqueeze(-1), filler);
      const torch::Tensor out = module->forward(tokens, {padding}).out.masked_fill(padding.unsqueeze(-1), 0);
      out.square().sum().backward();
      std::vector<torch::Tensor> all{out};
      for (const auto& parameter : module->parameters()) all.push_back(parameter.grad().clone());
      EncoderLayerState state = module->initial_state(2);
      all.push_back(module->step(tokens, state, padding));
      return all;
    };
    const auto expected = gradients(0), actual = gradients(std::nan(""));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  }
}

TEST(EncoderLayer, RecomputingGivesTheSameBits) {
  const torch::Tensor x = torch::randn({2, 300, 24});
  const torch::Tensor padding = torch::zeros({2, 300}, torch::kBool);
  const Pass kept = run(layer(true, /*norm_first=*/false, /*recompute=*/false, 0.2), x, {padding});
  const Pass again = run(layer(true, /*norm_first=*/false, /*recompute=*/true, 0.2), x, {padding});
  EXPECT_TRUE(at::equal(kept.x_gradient, again.x_gradient));
  for (size_t i = 0; i < kept.gradients.size(); ++i) EXPECT_TRUE(at::equal(kept.gradients[i], again.gradients[i]));
}

TEST(EncoderLayer, IsComposedInDouble) {
  EncoderLayer module = layer(true, false, false, 0.1);
  module->to(torch::kDouble);
  auto [out, terms] = module(torch::randn({2, 9, 24}, torch::kDouble));
  EXPECT_EQ(out.scalar_type(), torch::kDouble);
  EXPECT_TRUE(terms.has_value());
}

TEST(EncoderLayer, ErrorsAreOneLine) {
  EncoderLayer module = layer(true, false, false, 0);
  try {
    module(torch::randn({2, 9, 20}));
    FAIL() << "a width of 20 was taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("20"), std::string::npos) << error.what();
  }
}

// The tokens that are read must not feel what is left out, whichever layers see padded tokens.
TEST(Encoder, UnreadTokensChangeNothingElse) {
  const torch::Tensor x = torch::randn({3, 40, 24});
  const torch::Tensor padding = padding_mask(torch::tensor({40, 11, 1}), 40);
  for (const Padding mode : {Padding::respect, Padding::ignore}) {
    for (const bool softmax_first : {false, true}) {
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(c10::str("ignore ", mode == Padding::ignore, ", softmax ", softmax_first, ", masked ", masked));
        torch::manual_seed(4);
        const AttentionOptions primal{.width = 24, .heads = 3, .padding = mode, .primal = {.rank = 5, .rows = 7}};
        std::vector<EncoderLayerOptions> layers(3, {.attention = primal, .feed_forward = 20});
        if (softmax_first) layers[0].attention.kind = "softmax";
        Encoder encoder(layers);
        const auto run_with = [&](const std::optional<torch::Tensor>& unread) {
          const torch::Tensor input = x.clone().requires_grad_();
          auto [out, terms] = encoder(input, EncoderMasks{masked ? std::optional(padding) : std::nullopt, unread});
          torch::Tensor loss = out.masked_fill(padding.unsqueeze(-1), 0).square().sum();
          for (const KsvdTerms& term : terms) loss = loss + (term.le + term.lr).sum();
          loss.backward();
          return std::pair(out.masked_fill(padding.unsqueeze(-1), 0).detach(), input.grad());
        };
        const auto [everything, gradient] = run_with(std::nullopt);
        const auto [some, same_gradient] = run_with(padding);
        expect_close(some, everything);
        expect_close(same_gradient, gradient);
      }
    }
  }
}

}  // namespace
}  // namespace primal::nn
