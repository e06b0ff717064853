// Token-by-token decoding of a causal layer.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

#include "primal/attention.h"
#include "support/tensors.h"

namespace primal {
namespace {

using tests::close;
using tests::same;
using torch::Tensor;

class PrimalAttentionState : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(11); }

  /// The outputs of all steps. chunks: how many tokens each step takes.
  Tensor decode(const Tensor& tokens, const std::vector<int64_t>& chunks, State& state, const Tensor& padding = {}) {
    std::vector<Tensor> parts;
    int64_t begin = 0;
    for (const int64_t length : chunks) {
      const auto part = [&](const Tensor& t) { return t.narrow(1, begin, length); };
      parts.push_back(
          layer->step(part(tokens), state, padding.defined() ? std::optional(part(padding)) : std::nullopt));
      begin += length;
    }
    return torch::cat(parts, 1);
  }

  PrimalAttention layer{PrimalAttentionOptions{.width = 24, .heads = 4, .rank = 3, .causal = true}};
  Tensor x = torch::randn({3, 40, 24});
};

TEST_F(PrimalAttentionState, StepByStepEqualsTheFullPass) {
  State state = layer->initial_state(3);
  EXPECT_TRUE(close(decode(x, std::vector<int64_t>(40, 1), state), layer->forward(x).out, 1e-6));
}

TEST_F(PrimalAttentionState, ChunksEqualTheFullPass) {
  State state = layer->initial_state(3);
  EXPECT_TRUE(close(decode(x, {7, 0, 1, 32}, state), layer->forward(x).out, 1e-6));
}

TEST_F(PrimalAttentionState, PaddedTokensAreSteppedOver) {
  const Tensor padding = torch::rand({3, 40}) < 0.3;
  State state = layer->initial_state(3);
  const Tensor out = decode(x, std::vector<int64_t>(40, 1), state, padding);
  EXPECT_TRUE(close(out, layer->forward(x, {.query_padding = padding}).out, 1e-6));
  EXPECT_TRUE(same(state.count, padding.logical_not().sum(1)));
}

TEST_F(PrimalAttentionState, HoldsTheSumsOfProjectedTokens) {
  State state = layer->initial_state(3);
  decode(x, {40}, state);
  EXPECT_TRUE(close(state.q_sum, layer->q_proj->forward(x).to(torch::kDouble).sum(1), 1e-5));
  EXPECT_TRUE(close(state.k_sum, layer->k_proj->forward(x).to(torch::kDouble).sum(1), 1e-5));
  EXPECT_TRUE(same(state.count, torch::full({3}, 40, torch::kLong)));
}

TEST_F(PrimalAttentionState, DoesNotGrow) {
  State state = layer->initial_state(3);
  const auto numbers = [&] { return state.q_sum.numel() + state.k_sum.numel() + state.count.numel(); };
  const int64_t before = numbers();
  decode(x, {40}, state);
  EXPECT_EQ(numbers(), before);
  EXPECT_EQ(before, 3 * (2 * 24 + 1));
}

TEST_F(PrimalAttentionState, ACopyBranchesOff) {
  State state = layer->initial_state(3);
  decode(x.narrow(1, 0, 20), {20}, state);
  State branch = state;
  const Tensor first = layer->step(x.narrow(1, 20, 5), branch);
  const Tensor again = layer->step(x.narrow(1, 20, 5), state);
  EXPECT_TRUE(same(first, again));
}

TEST_F(PrimalAttentionState, StaysEqualOverALongSequence) {
  const Tensor longer = torch::randn({1, 20000, 24}) + 3;
  State state = layer->initial_state(1);
  const Tensor out = decode(longer, std::vector<int64_t>(200, 100), state);
  EXPECT_TRUE(close(out, layer->forward(longer).out, 1e-6));
}

TEST_F(PrimalAttentionState, NeedsNoGradient) {
  State state = layer->initial_state(3);
  EXPECT_FALSE(layer->step(x, state).requires_grad());
  EXPECT_FALSE(state.q_sum.requires_grad());
}

TEST_F(PrimalAttentionState, WorksInBFloat16) {
  layer->to(torch::kBFloat16);
  const Tensor narrow = x.to(torch::kBFloat16);
  State state = layer->initial_state(3);
  const Tensor out = decode(narrow, std::vector<int64_t>(40, 1), state);
  EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(close(out, layer->forward(narrow).out, 0.01));
}

}  // namespace
}  // namespace primal
