// Encoder layers whose attention sees tokens that were mixed with their neighbours.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>
#include <torch/utils.h>

#include <cmath>
#include <sstream>

#include "nn/encoder.h"
#include "nn/record.h"
#include "primal/encoder_layer.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;

struct MixingCase {
  bool norm_first = false;
  LayerMemory memory = LayerMemory::decay;
  int64_t kernel = 0;
  std::string kind = "primal";
  bool causal = false;
  Padding padding = Padding::respect;
  bool fused = true;
  bool recompute = false;
  double dropout = 0;
};

EncoderLayerOptions mixing_options(const MixingCase& c) {
  return {.attention = {.kind = c.kind,
                        .width = 24,
                        .heads = 3,
                        .causal = c.causal,
                        .padding = c.padding,
                        .primal = {.rank = 5, .rows = c.causal ? 0 : 7}},
          .feed_forward = 37,
          .dropout = c.dropout,
          .norm_first = c.norm_first,
          .recompute = c.recompute,
          .fused = c.fused,
          .memory = c.memory,
          .memory_scales = 3,
          .memory_tokens = 40,
          .kernel = c.kernel};
}

EncoderLayer mixing_layer(const MixingCase& c) {
  torch::manual_seed(3);
  EncoderLayer layer(mixing_options(c));
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : layer->mixing->parameters()) parameter.add_(torch::randn_like(parameter), 0.2);
  return layer;
}

const std::vector<std::pair<LayerMemory, int64_t>> kMixings{
    {LayerMemory::decay, 0}, {LayerMemory::none, 3}, {LayerMemory::decay, 3}};

// The output, the gradient of the input and those of all parameters.
std::vector<Tensor> mixed_pass(EncoderLayer layer, const Tensor& input, const EncoderMasks& masks) {
  torch::manual_seed(11);  // of the dropout
  layer->zero_grad();
  const Tensor x = input.clone().requires_grad_();
  auto [out, terms] = layer(x, masks);
  Tensor loss = out.square().sum();
  if (terms) loss = loss + terms->le.sum() + 2 * terms->lr.sum() - terms->tr.sum();
  loss.backward();
  std::vector<Tensor> all{out.detach(), x.grad()};
  for (const Tensor& parameter : layer->parameters()) all.push_back(parameter.grad().clone());
  return all;
}

void expect_same_results(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(1.0, expected[i].abs().max().item<double>());
    EXPECT_LE((actual[i] - expected[i]).abs().max().item<double>(), tolerance * scale) << "tensor " << i;
  }
}

TEST(MixingLayer, WithoutMixingNothingIsThere) {
  MixingCase plain;
  plain.memory = LayerMemory::none;
  torch::manual_seed(3);
  EncoderLayer layer(mixing_options(plain));
  EXPECT_TRUE(layer->mixing.is_empty());
  for (const std::string& name : layer->named_parameters().keys()) EXPECT_EQ(name.find("mixing"), std::string::npos);
  // Asked for, it adds parameters and leaves the others as they were.
  torch::manual_seed(3);
  EncoderLayer mixed(mixing_options({.kernel = 3}));
  const auto parameters = mixed->named_parameters();
  for (const auto& entry : layer->named_parameters()) EXPECT_TRUE(at::equal(entry.value(), parameters[entry.key()]));
  EXPECT_EQ(parameters.size(), layer->named_parameters().size() + 4);
  EXPECT_TRUE(parameters.contains("mixing.log_scale") && parameters.contains("mixing.taps"));
}

TEST(MixingLayer, AFreshConvolutionIsThePublishedLayer) {
  const Tensor x = torch::randn({2, 30, 24});
  for (const bool norm_first : {false, true}) {
    for (const bool fused : {false, true}) {
      MixingCase plain{.norm_first = norm_first, .memory = LayerMemory::none, .fused = fused}, mixed = plain;
      mixed.kernel = 3;
      torch::manual_seed(3);
      EncoderLayer expected(mixing_options(plain));
      torch::manual_seed(3);
      EncoderLayer actual(mixing_options(mixed));
      EXPECT_TRUE(close(actual(x).out, expected(x).out, 1e-5));
    }
  }
}

TEST(MixingLayer, FusedIsTheSameAsItsParts) {
  const Tensor x = torch::randn({3, 90, 24});
  Tensor padding = torch::zeros({3, 90}, torch::kBool);
  padding[1].slice(0, 50) = true;
  padding[2].slice(0, 0, 20) = true;
  const std::optional<Tensor> masks[] = {std::nullopt, padding};
  for (const auto& [memory, kernel] : kMixings) {
    for (int bits = 0; bits < 64; ++bits) {
      MixingCase c{.norm_first = (bits & 1) != 0, .memory = memory, .kernel = kernel};
      c.recompute = (bits & 2) != 0;
      c.dropout = (bits & 4) != 0 ? 0.3 : 0;
      c.padding = (bits & 8) != 0 ? Padding::ignore : Padding::respect;
      const EncoderMasks given{masks[(bits >> 4) & 1], masks[(bits >> 5) & 1]};
      SCOPED_TRACE(c10::str("kernel ", kernel, ", bits ", bits));
      MixingCase parts = c;
      parts.fused = false;
      expect_same_results(mixed_pass(mixing_layer(c), x, given), mixed_pass(mixing_layer(parts), x, given), 2e-4);
    }
  }
}

TEST(MixingLayer, WhateverStandsInPaddedTokensHasNoEffect) {
  const Tensor x = torch::randn({2, 40, 24});
  Tensor padding = torch::zeros({2, 40}, torch::kBool);
  padding[0].slice(0, 0, 6) = true;
  padding[1].slice(0, 5) = true;
  const auto filled = [&](double value) { return x.masked_fill(padding.unsqueeze(-1), value); };
  for (const std::string kind : {"primal", "softmax"}) {
    for (const bool norm_first : {false, true}) {
      for (const bool fused : {false, true}) {
        for (const auto& [memory, kernel] : kMixings) {
          EncoderLayer layer = mixing_layer(
              {.norm_first = norm_first, .memory = memory, .kernel = kernel, .kind = kind, .fused = fused});
          const auto expected = mixed_pass(layer, filled(0), {padding, padding});
          const auto actual = mixed_pass(layer, filled(std::nan("")), {padding, padding});
          for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
        }
      }
    }
  }
}

TEST(MixingLayer, ASequenceDoesNotFeelItsPadding) {
  const Tensor x = torch::randn({1, 20, 24});
  for (const std::string kind : {"primal", "softmax"}) {
    for (const bool causal : {false, true}) {
      EncoderLayer layer = mixing_layer({.kernel = 3, .kind = kind, .causal = causal});
      const Tensor expected = layer(x).out;
      const Tensor padded = at::cat({torch::randn({1, 8, 24}), x, torch::randn({1, 13, 24})}, 1);
      Tensor mask = torch::ones({1, 41}, torch::kBool);
      mask.narrow(1, 8, 20).fill_(false);
      EXPECT_TRUE(close(layer(padded, EncoderMasks{mask}).out.narrow(1, 8, 20), expected, 1e-5));
    }
  }
}

TEST(MixingLayer, TheAttentionIsSeenWithItsMixedInput) {
  const torch::NoGradGuard no_grad;
  const Tensor x = torch::randn({2, 9, 24});
  for (const bool norm_first : {false, true}) {
    EncoderLayer layer = mixing_layer({.norm_first = norm_first, .kernel = 3});
    const auto records = record(*layer, [&] { layer(x); });
    ASSERT_EQ(records.size(), 1);
    EXPECT_TRUE(at::equal(records[0].input, layer->mixing(norm_first ? layer->norm1(x) : x)));
  }
}

TEST(MixingLayer, StepsOfAStackAreTheFullPassCutAnywhere) {
  const int64_t tokens = 12;
  const Tensor x = torch::randn({2, tokens, 24}, torch::kDouble), padding = torch::rand({2, tokens}) < 0.3;
  for (const auto& [memory, kernel] : kMixings) {
    for (const bool norm_first : {false, true}) {
      std::vector<EncoderLayerOptions> layers;
      for (const std::string kind : {"primal", "softmax"}) {
        layers.push_back(mixing_options({.norm_first = norm_first,
                                         .memory = memory,
                                         .kernel = kernel == 0 ? 0 : 4,
                                         .kind = kind,
                                         .causal = true,
                                         .dropout = 0.3}));
      }
      layers.push_back(mixing_options({.memory = LayerMemory::none, .causal = true}));
      Encoder encoder(layers);
      encoder->to(torch::kDouble);
      encoder->eval();
      for (const auto& mask : {std::optional<Tensor>(), std::optional<Tensor>(padding)}) {
        const Tensor full = encoder(x, EncoderMasks{mask}).out;
        for (int64_t cut = 0; cut <= tokens; ++cut) {
          EncoderState state = encoder->initial_state(2);
          const auto step = [&](int64_t begin, int64_t length) {
            return encoder->step(x.narrow(1, begin, length), state,
                                 mask ? std::optional<Tensor>(mask->narrow(1, begin, length)) : std::nullopt);
          };
          const Tensor first = step(0, cut);
          EXPECT_TRUE(close(at::cat({first, step(cut, tokens - cut)}, 1), full, 1e-12)) << "cut at " << cut;
        }
      }
    }
  }
}

// The tokens that are read must not feel what is left out, whichever layers see padded tokens.
TEST(MixingLayer, UnreadTokensOfAStackChangeNothingElse) {
  const Tensor x = torch::randn({3, 40, 24}), padding = padding_mask(torch::tensor({40, 11, 1}), 40);
  for (const Padding mode : {Padding::respect, Padding::ignore}) {
    torch::manual_seed(4);
    Encoder encoder(std::vector<EncoderLayerOptions>(3, mixing_options({.kernel = 3, .padding = mode})));
    const auto run_with = [&](const std::optional<Tensor>& unread) {
      const Tensor input = x.clone().requires_grad_();
      const Tensor out = encoder(input, EncoderMasks{padding, unread}).out.masked_fill(padding.unsqueeze(-1), 0);
      out.square().sum().backward();
      return std::pair(out.detach(), input.grad());
    };
    const auto [everything, gradient] = run_with(std::nullopt);
    const auto [some, same_gradient] = run_with(padding);
    EXPECT_TRUE(close(some, everything, 1e-4));
    EXPECT_TRUE(close(same_gradient, gradient, 1e-3));
  }
}

TEST(MixingLayer, Bfloat16IsCloseToFloat32) {
  const torch::NoGradGuard no_grad;
  for (const bool norm_first : {false, true}) {
    EncoderLayer narrow = mixing_layer({.norm_first = norm_first, .kernel = 3});
    EncoderLayer wide = mixing_layer({.norm_first = norm_first, .kernel = 3});
    narrow->to(torch::kBFloat16);
    const Tensor x = torch::randn({2, 60, 24});
    const Tensor out = narrow(x.to(torch::kBFloat16)).out;
    EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
    EXPECT_TRUE(close(out.to(torch::kFloat), wide(x).out, 0.1));
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const Tensor cast = wide(x).out;
    at::autocast::set_autocast_enabled(at::kCPU, false);
    EXPECT_TRUE(close(cast.to(torch::kFloat), wide(x).out, 0.1));
  }
}

TEST(MixingLayer, TheLongestScaleIsThatOfTheAttentionUnlessSaid) {
  EncoderLayerOptions options = mixing_options({});
  const auto longest = [&] { return EncoderLayer(options)->mixing->options().tokens; };
  EXPECT_EQ(longest(), 40);
  options.memory_tokens = 0;
  EXPECT_EQ(longest(), 1024);
  options.attention.tokens = 77;
  EXPECT_EQ(longest(), 77);
}

TEST(MixingLayer, SurvivesACloneAndAFile) {
  const Tensor x = torch::randn({2, 9, 24});
  EncoderLayer layer = mixing_layer({.kernel = 3});
  const Tensor before = layer(x).out;
  EncoderLayer twin(std::dynamic_pointer_cast<EncoderLayerImpl>(layer->clone()));
  std::stringstream file;
  torch::save(layer, file);
  EncoderLayer loaded(mixing_options({.kernel = 3}));
  torch::load(loaded, file);
  {
    const torch::NoGradGuard no_grad;
    layer->mixing->gain.zero_();
  }
  EXPECT_FALSE(close(layer(x).out, before, 1e-3));
  EXPECT_TRUE(at::equal(twin(x).out, before));
  EXPECT_TRUE(at::equal(loaded(x).out, before));
}

// --- the public layer ---

primal::EncoderLayerOptions public_mixing_options(bool causal, int64_t kernel) {
  return {.attention = {.width = 24, .heads = 3, .rank = 5, .rows = causal ? 0 : 7, .causal = causal},
          .feed_forward = 37,
          .memory = LayerMemory::decay,
          .memory_scales = 3,
          .memory_tokens = 40,
          .kernel = kernel};
}

TEST(PublicMixingLayer, IsTheLayerOfTheNetworks) {
  const Tensor x = torch::randn({3, 40, 24}), padding = padding_mask(torch::tensor({40, 11, 1}), 40);
  for (const bool causal : {false, true}) {
    torch::manual_seed(3);
    primal::EncoderLayer layer(public_mixing_options(causal, 3));
    torch::manual_seed(3);
    EncoderLayer twin(mixing_options({.kernel = 3, .causal = causal}));
    EXPECT_EQ(layer->named_parameters().keys(), twin->named_parameters().keys());
    const Tensor out = layer->forward(x, {.padding = padding, .unread = padding}).out;
    EXPECT_TRUE(at::equal(out, twin->forward(x, {padding, padding}).out));
    primal::EncoderLayer copy(std::dynamic_pointer_cast<primal::EncoderLayerImpl>(layer->clone()));
    layer->mixing->reset_parameters();
    EXPECT_TRUE(at::equal(copy->forward(x, {.padding = padding, .unread = padding}).out, out));
  }
}

TEST(PublicMixingLayer, StepsAreTheFullPassCutAnywhere) {
  const Tensor x = torch::randn({2, 9, 24});
  primal::EncoderLayer layer(public_mixing_options(/*causal=*/true, /*kernel=*/4));
  layer->eval();
  const Tensor full = layer->forward(x).out;
  for (int64_t cut = 0; cut <= 9; ++cut) {
    State state = layer->initial_state(2);
    const Tensor first = layer->step(x.narrow(1, 0, cut), state);
    EXPECT_TRUE(close(at::cat({first, layer->step(x.narrow(1, cut, 9 - cut), state)}, 1), full, 1e-5));
    EXPECT_EQ(state.sums.sizes(), torch::IntArrayRef({2, 3, 24}));
    EXPECT_EQ(state.recent.sizes(), torch::IntArrayRef({2, 3, 24}));
  }
}

TEST(PublicMixingLayer, StatesWithoutMixingAreAsTheyWere) {
  primal::EncoderLayerOptions options = public_mixing_options(/*causal=*/true, 0);
  options.memory = LayerMemory::none;
  primal::EncoderLayer layer(options);
  EXPECT_EQ(layer->mixing, nullptr);
  const State made = layer->initial_state(2);
  State state{made.q_sum, made.k_sum, made.count};
  layer->step(torch::randn({2, 3, 24}), state);
  EXPECT_FALSE(made.sums.defined() || state.sums.defined() || state.recent.defined());
}

TEST(PublicMixingLayer, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of([] { primal::EncoderLayer{public_mixing_options(false, 2)}; }),
            "token_mixing: a kernel that looks both ways must be odd, so that its token stands in the middle, got 2");
  primal::EncoderLayerOptions options = public_mixing_options(false, 0);
  options.memory_scales = 0;
  EXPECT_EQ(error_of([&] { primal::EncoderLayer{options}; }), "token_mixing: scales must be at least 1, got 0");
  primal::EncoderLayer layer(public_mixing_options(true, 3));
  State state = layer->initial_state(2);
  State without{state.q_sum, state.k_sum, state.count};
  EXPECT_EQ(error_of([&] { layer->step(torch::randn({2, 1, 24}), without); }), "token_mixing: the state has no recent");
  EXPECT_EQ(error_of([&] { layer->forward(Tensor()); }), "encoder_layer: x is not a tensor");
}

}  // namespace
}  // namespace primal::nn
