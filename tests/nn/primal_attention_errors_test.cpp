// Input that does not fit: one line of primal::Error with both values, and nothing of the C++ stack.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "primal/attention.h"
#include "support/errors.h"

namespace primal {
namespace {

using tests::contains;
using tests::error_of;
using torch::Tensor;

const PrimalAttentionOptions kRight{.width = 4, .heads = 2, .rank = 2, .rows = 3};
const PrimalAttentionOptions kCausal{.width = 4, .heads = 2, .rank = 2, .causal = true};

void expect_one_line(const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_TRUE(message.starts_with("primal_attention: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(message.find("Exception raised from"), std::string::npos) << message;
  for (const std::string& part : parts) EXPECT_TRUE(contains(message, part));
}

struct Wrong {
  Tensor query;
  AttentionInputs inputs;
  std::vector<std::string> message;
};

std::vector<Wrong> wrong_inputs() {
  const Tensor x = torch::randn({2, 3, 4});
  const auto mask = [](at::IntArrayRef shape) { return torch::zeros(shape, torch::kBool); };
  return {
      {torch::randn({3, 4}), {}, {"query must be [B, N, D]", "[3, 4]"}},
      {torch::randn({2, 3, 4, 1}), {}, {"query must be [B, N, D]", "[2, 3, 4, 1]"}},
      {torch::randn({2, 3, 5}), {}, {"query must be [B, N, D] = [2, 3, 4]", "[2, 3, 5]"}},
      {torch::randn({2, 3, 6}), {}, {"6", "4"}},
      {torch::randn({2, 3, 0}), {}, {"0"}},
      {x.to(torch::kLong), {}, {"query must be float32, float64 or bfloat16, got Long"}},
      {x.to(torch::kHalf), {}, {"query must be float32, float64 or bfloat16, got Half"}},
      {x.to(torch::kDouble), {}, {"q_weight is Float but query is Double"}},
      {x, {.key = torch::randn({3, 4})}, {"key must be [B, N, D]", "[3, 4]"}},
      {x, {.key = torch::randn({1, 3, 4})}, {"key must be [B, Nk, D]", "got [1, 3, 4]"}},
      {x, {.key = torch::randn({2, 5, 8})}, {"key must be [B, Nk, D]", "got [2, 5, 8]"}},
      {x, {.key = x.to(torch::kDouble)}, {"key is Double but query is Float"}},
      {x, {.query_padding = mask({2, 4})}, {"query_padding", "must be [B, Nq]", "got [2, 4]"}},
      {x, {.query_padding = mask({3})}, {"query_padding", "must be [B, Nq]", "got [3]"}},
      {x, {.query_padding = torch::zeros({2, 3})}, {"query_padding", "must be bool (true = padded), got Float"}},
      {x, {.key = x, .key_padding = mask({2, 2})}, {"key_padding", "must be [B, Nk]", "got [2, 2]"}},
      {x, {.key_padding = mask({2, 3})}, {"key_padding without a key; self-attention takes query_padding"}},
  };
}

TEST(PrimalAttentionErrors, WrongInputIsNamedInOneLine) {
  PrimalAttention layer(kRight);
  for (const Wrong& wrong : wrong_inputs()) {
    expect_one_line(error_of([&] { layer->forward(wrong.query, wrong.inputs); }), wrong.message);
    expect_one_line(error_of([&] { layer->scores(wrong.query, wrong.inputs); }), wrong.message);
  }
}

TEST(PrimalAttentionErrors, ExpectedAndGivenShapeAreWrittenAlike) {
  PrimalAttention layer(kRight);
  const Tensor x = torch::randn({2, 3, 4});
  EXPECT_EQ(error_of([&] {
              layer->forward(x, {.key = torch::randn({1, 3, 4})});
            }),
            "primal_attention: key must be [B, Nk, D] = [2, 3, 4], got [1, 3, 4]");
}

TEST(PrimalAttentionErrors, AQueryOfAnotherWidthIsBlamedOnTheQuery) {
  PrimalAttention layer(kRight);
  const std::string message = error_of([&] { layer->forward(torch::randn({2, 3, 6})); });
  expect_one_line(message, {"query"});
}

TEST(PrimalAttentionErrors, AQueryThatIsNoTensorIsRefused) {
  PrimalAttention layer(kRight);
  expect_one_line(error_of([&] { layer->forward(Tensor()); }), {"query"});
}

TEST(PrimalAttentionErrors, ACausalLayerTakesNoKey) {
  PrimalAttention layer(kCausal);
  const Tensor x = torch::randn({2, 3, 4});
  expect_one_line(error_of([&] { layer->forward(x, {.key = x}); }), {"causal attention takes one sequence"});
}

TEST(PrimalAttentionErrors, OnlyACausalLayerHasAState) {
  PrimalAttention layer(kRight);
  State state = layer->initial_state(2);
  expect_one_line(error_of([&] { layer->step(torch::randn({2, 1, 4}), state); }), {"only a causal layer has a state"});
}

TEST(PrimalAttentionErrors, AStateOfAnotherKindIsRefusedAndKept) {
  PrimalAttention layer(kCausal);
  const Tensor x = torch::randn({2, 1, 4});
  State other_batch = layer->initial_state(3);
  expect_one_line(error_of([&] { layer->step(x, other_batch); }), {"must be [B, D]", "got [3, 4]"});
  State other_dtype = layer->initial_state(2);
  other_dtype.q_sum = other_dtype.q_sum.to(torch::kFloat);
  expect_one_line(error_of([&] { layer->step(x, other_dtype); }), {"float64 sums", "Float, Double and Long"});
  State good = layer->initial_state(2);
  error_of([&] { layer->step(torch::randn({2, 1, 5}), good); });
  EXPECT_EQ(good.count.sum().item<int64_t>(), 0);
}

}  // namespace
}  // namespace primal
