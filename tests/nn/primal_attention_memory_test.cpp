// A causal layer whose memory fades: Memory::decay.
#include <gtest/gtest.h>
#include <torch/serialize.h>
#include <torch/types.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "nn/attention/kinds.h"
#include "primal/attention.h"
#include "support/attention.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::error_of;
using tests::same;
using torch::Tensor;

const PrimalAttentionOptions kFading{.width = 24, .heads = 4, .rank = 3, .causal = true, .memory = Memory::decay};

PrimalAttentionOptions with_map(const char* feature_map) {
  PrimalAttentionOptions options = kFading;
  options.feature_map = feature_map;
  return options;
}

// Steps over the tokens; cut: how many tokens the first step takes.
Tensor in_two_steps(PrimalAttention layer, const Tensor& x, int64_t cut, const Tensor& padding, State& state) {
  const int64_t rest = x.size(1) - cut;
  const Tensor first = layer->step(x.narrow(1, 0, cut), state, padding.narrow(1, 0, cut));
  return torch::cat({first, layer->step(x.narrow(1, cut, rest), state, padding.narrow(1, cut, rest))}, 1);
}

TEST(PrimalAttentionMemory, AgreesWithTheDefinition) {
  const auto identity = [](const Tensor& u) { return u; };
  const Tensor x = torch::randn({2, 9, 24}, torch::kDouble);
  tests::expect_agrees_with_plain_attention(tests::double_layer(kFading), tests::plain_cosine, x);
  tests::expect_agrees_with_plain_attention(tests::double_layer(with_map("identity")), identity, x);
}

TEST(PrimalAttentionMemory, CutAnywhereStepsEqualTheFullPass) {
  torch::manual_seed(1);
  PrimalAttention layer(kFading);
  const Tensor x = torch::randn({3, 70, 24}), padding = torch::rand({3, 70}) < 0.3;
  const Tensor expected = layer->forward(x, {.query_padding = padding}).out;
  for (int64_t cut = 0; cut <= 70; ++cut) {
    State state = layer->initial_state(3);
    EXPECT_TRUE(close(in_two_steps(layer, x, cut, padding, state), expected, 1e-5)) << "cut at " << cut;
    EXPECT_TRUE(same(state.count, padding.logical_not().sum(1)));
  }
}

TEST(PrimalAttentionMemory, StaysEqualOverALongSequence) {
  torch::manual_seed(2);
  PrimalAttention layer(kFading);
  const Tensor x = torch::randn({1, 20000, 24}) + 3;
  State state = layer->initial_state(1);
  std::vector<Tensor> parts;
  for (const Tensor& part : x.split(100, 1)) parts.push_back(layer->step(part, state));
  EXPECT_TRUE(close(torch::cat(parts, 1), layer->forward(x).out, 1e-5));
}

TEST(PrimalAttentionMemory, WithoutEndIsThePublishedMean) {
  PrimalAttention fading = tests::double_layer(kFading);
  PrimalAttentionOptions options = kFading;
  options.memory = Memory::mean;
  PrimalAttention mean = tests::double_layer(options);
  fading->log_scale.data().fill_(INFINITY);
  const Tensor x = torch::randn({2, 50, 24}, torch::kDouble);
  tests::expect_close(fading->forward(x), mean->forward(x), 1e-12);
}

TEST(PrimalAttentionMemory, ShorterThanATokenSeesThatTokenAlone) {
  PrimalAttention layer = tests::double_layer(kFading);
  layer->log_scale.data().fill_(-INFINITY);
  const Tensor x = torch::randn({1, 5, 24}, torch::kDouble), out = layer->forward(x).out;
  for (int64_t t = 0; t < 5; ++t) {
    EXPECT_TRUE(close(out.narrow(1, t, 1), layer->forward(x.narrow(1, t, 1)).out, 1e-12));
  }
}

TEST(PrimalAttentionMemory, ScalesBeginLogSpacedFromOneToken) {
  PrimalAttentionOptions options = kFading;
  options.memory_tokens = 1000;
  PrimalAttention layer(options);
  const Tensor expected = torch::tensor({1.0, 10.0, 100.0, 1000.0});
  EXPECT_TRUE(close(layer->log_scale.exp(), expected.to(torch::kFloat), 1e-5));
  layer->log_scale.data().zero_();
  layer->reset_parameters();
  EXPECT_TRUE(close(layer->log_scale.exp(), expected.to(torch::kFloat), 1e-5));
  options.heads = 1;
  EXPECT_TRUE(close(PrimalAttention(options)->log_scale.exp(), torch::full({1}, std::sqrt(1000.0)), 1e-5));
}

TEST(PrimalAttentionMemory, IsAnOptionOfCausalLayersAlone) {
  PrimalAttentionOptions options = kFading;
  options.causal = false;
  EXPECT_EQ(error_of([&] { PrimalAttention layer(options); }),
            "primal_attention: memory=decay needs a causal layer: others keep no past");
  options = kFading;
  options.memory_tokens = 0;
  EXPECT_EQ(error_of([&] { PrimalAttention layer(options); }),
            "primal_attention: memory_tokens must be at least 1, got 0");
}

TEST(PrimalAttentionMemory, IsPrintedAndOwnsAParameterOnlyWhereItFades) {
  std::ostringstream stream;
  PrimalAttention(kFading)->pretty_print(stream);
  EXPECT_EQ(stream.str(),
            "primal::PrimalAttention(width=24, heads=4, rank=3, feature_map=cosine, causal, memory=decay, "
            "memory_tokens=1024)");
  PrimalAttentionOptions options = kFading;
  options.memory = Memory::mean;
  PrimalAttention mean(options);
  EXPECT_FALSE(mean->log_scale.defined());
  EXPECT_EQ(mean->named_parameters().find("log_scale"), nullptr);
}

TEST(PrimalAttentionMemory, IsClonedAndSavedWithTheLayer) {
  PrimalAttention layer(kFading);
  layer->log_scale.data().uniform_(0, 3);
  const Tensor x = torch::randn({2, 9, 24}), expected = layer->forward(x).out;
  const auto copy = std::dynamic_pointer_cast<PrimalAttentionImpl>(layer->clone());
  EXPECT_TRUE(same(copy->forward(x).out, expected));
  std::stringstream file;
  torch::save(layer, file);
  PrimalAttention loaded(kFading);
  torch::load(loaded, file);
  EXPECT_TRUE(same(loaded->forward(x).out, expected));
}

TEST(PrimalAttentionMemory, ReachesTheLayerThroughTheKindOfAttention) {
  const auto attention = nn::make_attention(
      {.width = 12, .heads = 3, .causal = true, .primal = {.rank = 4, .memory = Memory::decay, .memory_tokens = 100}});
  ASSERT_TRUE(attention->primal()->log_scale.defined());
  EXPECT_NEAR(attention->primal()->log_scale[2].item<double>(), std::log(100.0), 1e-5);
  const Tensor x = torch::randn({2, 7, 12});
  const auto state = attention->initial_state(2);
  std::vector<Tensor> parts;
  for (const Tensor& token : x.split(1, 1)) parts.push_back(attention->step(token, *state, {}));
  EXPECT_TRUE(close(torch::cat(parts, 1), attention->forward(x, {}).out, 1e-5));
}

}  // namespace
}  // namespace primal
