// Token-by-token decoding of a stack of layers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "nn/encoder.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::close;
using tests::error_of;
using torch::Tensor;
using Kinds = std::vector<std::string>;
using OptionalPadding = std::optional<Tensor>;

constexpr int64_t kBatch = 3, kTokens = 40, kWidth = 24;

const Kinds kStacks[] = {{"primal"}, {"softmax"}, {"softmax", "primal"}, {"primal", "softmax", "primal"}};

// With dropout, in evaluation mode.
Encoder encoder_of(const Kinds& kinds, bool norm_first = false, bool causal = true) {
  torch::manual_seed(5);
  std::vector<EncoderLayerOptions> layers;
  for (const std::string& kind : kinds) {
    layers.push_back(
        {.attention =
             {.kind = kind, .width = kWidth, .heads = 3, .dropout = 0.4, .causal = causal, .primal = {.rank = 5}},
         .feed_forward = 31,
         .dropout = 0.3,
         .norm_first = norm_first});
  }
  Encoder encoder(layers);
  encoder->eval();
  return encoder;
}

// The outputs of all steps. chunks: how many tokens each step takes.
Tensor decode(Encoder& encoder, const Tensor& x, const std::vector<int64_t>& chunks,
              const OptionalPadding& padding = {}) {
  EncoderState state = encoder->initial_state(x.size(0));
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t length : chunks) {
    const auto part = [&](const Tensor& t) { return t.narrow(1, begin, length); };
    parts.push_back(encoder->step(part(x), state, padding ? OptionalPadding(part(*padding)) : std::nullopt));
    begin += length;
  }
  return at::cat(parts, 1);
}

std::vector<int64_t> one_at_a_time(int64_t tokens = kTokens) {
  return std::vector<int64_t>(static_cast<size_t>(tokens), 1);
}

TEST(Encoder, StepIsTheSameAsTheFullCausalPass) {
  const Tensor padding = padding_mask(torch::tensor({40, 23, 0}), kTokens);
  const OptionalPadding paddings[] = {std::nullopt, padding, padding.flip(1), torch::rand({kBatch, kTokens}) < 0.3};
  for (const auto dtype : {torch::kFloat, torch::kDouble}) {
    const Tensor x = torch::randn({kBatch, kTokens, kWidth}, dtype);
    for (const Kinds& kinds : kStacks) {
      for (const bool norm_first : {false, true}) {
        Encoder encoder = encoder_of(kinds, norm_first);
        encoder->to(dtype);
        for (size_t i = 0; i < std::size(paddings); ++i) {
          SCOPED_TRACE(c10::str(dtype, " ", kinds, ", norm_first ", norm_first, ", padding ", i));
          const Tensor full = encoder(x, EncoderMasks{paddings[i]}).out;
          const double tolerance = dtype == torch::kFloat ? 1e-5 : 1e-12;
          EXPECT_TRUE(close(decode(encoder, x, one_at_a_time(), paddings[i]), full, tolerance));
          EXPECT_TRUE(close(decode(encoder, x, {7, 0, 1, 32}, paddings[i]), full, tolerance));
          EXPECT_TRUE(close(decode(encoder, x, {kTokens}, paddings[i]), full, tolerance));
        }
      }
    }
  }
}

TEST(Encoder, StepKeepsUpWithALongSequence) {
  const Tensor x = torch::randn({1, 300, kWidth});
  Encoder encoder = encoder_of({"softmax", "primal"});
  EXPECT_TRUE(close(decode(encoder, x, one_at_a_time(300)), encoder(x).out, 1e-5));
}

TEST(Encoder, StepTakesAMaskAlsoAfterTokensWithoutOne) {
  const Tensor x = torch::randn({2, 12, kWidth});
  const Tensor late = torch::zeros({2, 12}, torch::kBool);
  late[1][8] = true;
  for (const Kinds& kinds : kStacks) {
    SCOPED_TRACE(c10::str(kinds));
    Encoder encoder = encoder_of(kinds);
    EncoderState state = encoder->initial_state(2);
    const Tensor first = encoder->step(x.narrow(1, 0, 5), state);
    const Tensor second = encoder->step(x.narrow(1, 5, 5), state, late.narrow(1, 5, 5));
    const Tensor third = encoder->step(x.narrow(1, 10, 2), state);
    EXPECT_TRUE(close(at::cat({first, second, third}, 1), encoder(x, EncoderMasks{late}).out, 1e-5));
  }
}

TEST(Encoder, StepHasNeitherDropoutNorGradientEvenInTrainingMode) {
  const Tensor x = torch::randn({kBatch, kTokens, kWidth});
  for (const Kinds& kinds : kStacks) {
    Encoder encoder = encoder_of(kinds);
    const Tensor full = encoder(x).out;
    encoder->train();
    const Tensor out = decode(encoder, x, {3, 37});
    EXPECT_TRUE(close(out, full, 1e-5));
    EXPECT_FALSE(out.requires_grad());
    EXPECT_TRUE(encoder->is_training());
  }
}

TEST(Encoder, StatesDoNotDisturbEachOther) {
  const Tensor x = torch::randn({2, 6, kWidth});
  Encoder encoder = encoder_of({"primal", "softmax"});
  EncoderState one = encoder->initial_state(2), other = encoder->initial_state(2);
  const Tensor expected = encoder(x).out;
  encoder->step(torch::randn({2, 4, kWidth}), other);
  const Tensor first = encoder->step(x.narrow(1, 0, 3), one);
  encoder->step(torch::randn({2, 1, kWidth}), other);
  EXPECT_TRUE(close(at::cat({first, encoder->step(x.narrow(1, 3, 3), one)}, 1), expected, 1e-5));
}

TEST(Encoder, ALayerThatIsNotCausalRefusesToDecode) {
  EXPECT_EQ(error_of([] { encoder_of({"softmax"}, false, /*causal=*/false)->initial_state(2); }),
            "softmax_attention: a layer that is not causal cannot decode token by token");
  EXPECT_EQ(error_of([] { encoder_of({"primal"}, false, /*causal=*/false)->initial_state(2); }),
            "primal_attention: a layer that is not causal cannot decode token by token");
}

TEST(Encoder, StepChecksStateTokensAndMask) {
  Encoder encoder = encoder_of({"softmax", "primal"}, /*norm_first=*/true);
  EncoderState state = encoder->initial_state(3), shorter = encoder_of({"softmax"})->initial_state(3);
  const auto error_with = [&](const std::vector<int64_t>& sizes, EncoderState& with, const OptionalPadding& padding) {
    return error_of([&] { encoder->step(torch::randn(sizes), with, padding); });
  };
  EXPECT_EQ(error_with({2, 1, 24}, state, {}), "softmax_attention: the state is of 3 sequences, the tokens are of 2");
  EXPECT_EQ(error_with({3, 1, 24}, shorter, {}), "encoder: the state is of 1 layers, the encoder has 2");
  EXPECT_EQ(error_with({3, 1, 20}, state, {}), "encoder_layer: expected tokens [B, N, 24], got [3, 1, 20]");
  EXPECT_EQ(error_with({3, 24}, state, {}), "encoder_layer: expected tokens [B, N, 24], got [3, 24]");
  EXPECT_EQ(error_with({3, 1, 24}, state, torch::zeros({3, 2}, torch::kBool)),
            "encoder_layer: expected a bool padding mask [3, 1], got Bool [3, 2]");
  EXPECT_EQ(error_with({3, 1, 24}, state, torch::zeros({3, 1})),
            "encoder_layer: expected a bool padding mask [3, 1], got Float [3, 1]");
}

}  // namespace
}  // namespace primal::nn
