#include "nn/attention/window.h"

#include <limits>

#include "nn/rivals/cases.h"
#include "nn/rivals/decoding.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;
using tests::error_of;

Mix window(int64_t behind, int64_t ahead) {
  return [=](const Heads& heads, const std::optional<Tensor>& padding) {
    return window_attention(heads, padding, {.behind = behind, .ahead = ahead});
  };
}

// The whole matrix of scores. A padded token sees itself.
Tensor plain_window(const Heads& heads, const std::optional<Tensor>& padding, int64_t behind, int64_t ahead) {
  const int64_t tokens = heads.q.size(2);
  const Tensor i = torch::arange(tokens), distance = i - i.unsqueeze(1);  // of a key from its query
  Tensor seen = distance.ge(-behind).logical_and(distance.le(ahead)).expand({heads.q.size(0), 1, tokens, tokens});
  if (padding) seen = seen.logical_and(padding->logical_not().view({-1, 1, 1, tokens})).logical_or(distance.eq(0));
  const Tensor scores = heads.q.matmul(heads.k.transpose(-1, -2)) / std::sqrt(static_cast<double>(heads.q.size(3)));
  const Tensor weights = scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity()).softmax(-1);
  return weights.matmul(cleared(heads.v, padding));
}

TEST(WindowAttention, GivesTheWorkedExample) {
  EXPECT_TRUE(close(window_attention(example(), std::nullopt, {.behind = 1, .ahead = 1}),
                    printed({.359223, -.440777, .199474, .076796, -.042317, .024940, -.392880, .043628,  //
                             .161214, -.638786, .363999, .066779, .105596, .258033, -.128390, -.457626}),
                    kSixDigits));
}

TEST(WindowAttention, IsTheSoftmaxOfABandAtAnyLength) {
  for (const int64_t tokens : {1, 2, 5, 16, 17, 41}) {
    const Heads heads = random_heads(2, 3, tokens, 4);
    const Tensor padding = torch::rand({2, tokens}) < 0.3;
    for (const auto& [behind, ahead] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 1}, {4, 4}, {8, 0}, {3, 7}}) {
      EXPECT_TRUE(
          close(window(behind, ahead)(heads, std::nullopt), plain_window(heads, std::nullopt, behind, ahead), 1e-12));
      EXPECT_TRUE(close(window(behind, ahead)(heads, padding), plain_window(heads, padding, behind, ahead), 1e-12));
    }
  }
}

TEST(WindowAttention, AsWideAsTheSequenceIsTheSoftmax) {
  const Heads heads = random_heads(2, 3, 9, 4);
  for (const int64_t half : {8, 9, 1000}) {
    EXPECT_TRUE(close(window(half, half)(heads, std::nullopt), plain_softmax_attention(heads), 1e-12));
  }
  EXPECT_FALSE(close(window(7, 7)(heads, std::nullopt), plain_softmax_attention(heads), 1e-4));
}

TEST(WindowAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, true, false, false}});
  for (const Mix& mix : {window(1, 1), window(2, 0), window(3, 3)}) {
    expect_gradients(mix, random_heads(1, 2, 7, 3));
    expect_gradients(mix, random_heads(1, 2, 7, 3), padding);
  }
}

TEST(WindowAttention, KeepsWhatEveryRivalShould) {
  for (const Mix& mix : {window(2, 2), window(4, 0), window(20, 20)}) {
    expect_padding_leaves_no_trace(mix);
    expect_no_nan_without_tokens(mix);
    expect_means(mix);
  }
}

TEST(WindowAttention, StepsGiveThePass) {
  for (const int64_t tokens : {2, 6, 128}) {
    expect_steps_equal_the_pass(
        {.kind = "window", .width = 12, .heads = 3, .causal = true, .window = {.tokens = tokens}});
  }
}

TEST(WindowAttention, SeesHalfOnEachSideAndAllBehindIfCausal) {
  const auto seen_from = [](bool causal) {
    torch::manual_seed(2);
    const auto attention =
        make_window_attention({.kind = "window", .width = 4, .causal = causal, .window = {.tokens = 6}});
    const Tensor x = torch::randn({1, 21, 4}).requires_grad_();
    attention->forward(x, std::nullopt).out[0][10].sum().backward();
    const Tensor seen = x.grad()[0].abs().sum(-1).nonzero().flatten();
    return std::pair(seen[0].item<int64_t>(), seen[-1].item<int64_t>());
  };
  EXPECT_EQ(seen_from(false), (std::pair<int64_t, int64_t>(7, 13)));
  EXPECT_EQ(seen_from(true), (std::pair<int64_t, int64_t>(4, 10)));
}

TEST(WindowAttention, NothingGivesNothing) {
  EXPECT_EQ(window(2, 2)(random_heads(0, 2, 5, 3), std::nullopt).sizes(), (std::vector<int64_t>{0, 2, 5, 3}));
  EXPECT_EQ(window(2, 2)(random_heads(2, 2, 0, 3), std::nullopt).sizes(), (std::vector<int64_t>{2, 2, 0, 3}));
}

TEST(WindowAttention, HasToBeEven) {
  const auto message_with = [](int64_t tokens) {
    return error_of([&] { make_window_attention({.kind = "window", .width = 8, .window = {.tokens = tokens}}); });
  };
  EXPECT_EQ(message_with(0), "window_attention: tokens must be even and at least 2, got 0");
  EXPECT_EQ(message_with(5), "window_attention: tokens must be even and at least 2, got 5");
}

TEST(WindowAttention, WeightsAreDroppedInTraining) {
  Heads heads = random_heads(1, 2, 40, 4);
  heads.v.fill_(1);
  torch::manual_seed(1);
  const Tensor kept = window_attention(heads, std::nullopt, {.behind = 8, .ahead = 8}, /*dropout=*/0.5);
  EXPECT_GT(kept.std().item<double>(), 0.05);
  EXPECT_NEAR(kept.mean().item<double>(), 1, 0.2);
}

}  // namespace
}  // namespace primal::nn::rivals
